// The folder that keeps packed weights on disk: where it is, and how much it may hold.
#pragma once

#include <cstdint>
#include <string>

#include "user_files/user_folder.h"

namespace tern {

class CacheFolder : public UserFolder {
 public:
  /// `choice`: PrepareOptions::weight_cache. Never throws: without a safe folder, usable() is false.
  explicit CacheFolder(const std::string& choice);

  /// Bytes that all files may take together (TERN_WEIGHT_CACHE_MB).
  std::uint64_t limit() const { return limit_; }

 private:
  std::uint64_t limit_ = 0;
};

}  // namespace tern
