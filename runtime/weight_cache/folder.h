// The folder that keeps packed weights on disk: where it is, and whether it is safe to use.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/weight_cache/descriptor.h"

namespace tern {

/// A folder that only this process's user can write to. Immutable; any number of threads and processes may use it.
class CacheFolder {
 public:
  /// `choice`: PrepareOptions::weight_cache. Makes the folder if it does not exist. Never throws: without a safe
  /// folder, usable() is false.
  explicit CacheFolder(const std::string& choice);

  bool usable() const { return folder_.is_open(); }
  /// Why the folder is not used; empty if it is.
  const std::string& problem() const { return problem_; }
  const std::string& path() const { return path_; }
  /// The folder that was checked, whatever its path leads to by now: for openat() and the like.
  int descriptor() const { return folder_.number(); }
  /// Bytes that all files may take together (TERN_WEIGHT_CACHE_MB).
  std::uint64_t limit() const { return limit_; }

 private:
  std::string path_, problem_;
  Descriptor folder_{-1};
  std::uint64_t limit_ = 0;
};

}  // namespace tern
