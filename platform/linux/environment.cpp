#include "platform/environment.h"

#include <cstdlib>

#include "platform/posix/home.h"

namespace tern::platform {

std::optional<std::string> trusted_variable(const char* name) {
  const char* value = ::secure_getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::string user_cache_folder() {
  // The XDG specification ignores relative paths in this variable.
  if (std::string cache = trusted_variable("XDG_CACHE_HOME").value_or(""); cache.starts_with('/')) return cache;
  const std::string home = own_home();
  return home.empty() ? home : home + "/.cache";
}

}  // namespace tern::platform
