// Patterns of names, as shells write them.
#pragma once

#include <string>

namespace tern::platform {

/// True if the whole text matches: * any characters, ? one, [a-z] and [!a-z] one of a set; \\ quotes the next.
bool matches_pattern(const std::string& pattern, const std::string& text);

}  // namespace tern::platform
