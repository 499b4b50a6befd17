// File of a trace: temporary until complete, compressed if the name ends in ".gz".
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "loader/atomic_file.h"

namespace tern {

/// Used by one thread at a time. Failures are io errors naming the path.
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
