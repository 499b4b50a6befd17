// The file of a trace: a temporary one until it is complete, compressed if its name ends in ".gz".
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "loader/atomic_file.h"

namespace tern {

/// Belongs to one thread at a time. Failures are errors of code io that name the path.
class TraceFile {
 public:
  explicit TraceFile(const std::string& path);
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;
  void write(std::string_view text);
  void commit();

 private:
  class Gzip;
  AtomicFile file_;
  std::unique_ptr<Gzip> gzip_;  ///< null: plain text
};

}  // namespace tern
