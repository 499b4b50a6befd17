// Folder of packed weights on disk: its path and size limit.
#pragma once

#include <cstdint>
#include <string>

#include "user_files/user_folder.h"

namespace tern {

class CacheFolder : public UserFolder {
 public:
  /// `choice`: PrepareOptions::weight_cache. Never throws: without a safe folder, usable() is false.
  explicit CacheFolder(const std::string& choice);

  /// Limit on the total bytes of all files (TERN_WEIGHT_CACHE_MB).
  std::uint64_t limit() const { return limit_; }

 private:
  std::uint64_t limit_ = 0;
};

}  // namespace tern
