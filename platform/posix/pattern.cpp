#include "platform/pattern.h"

#include <fnmatch.h>

namespace tern::platform {

bool matches_pattern(const std::string& pattern, const std::string& text) {
  return ::fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

}  // namespace tern::platform
