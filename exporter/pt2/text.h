// Names from files: UTF-8 check, and their form in messages.
#pragma once

#include <string>
#include <string_view>

namespace tern::pt2 {

/// Quotes at most 200 bytes and escapes everything but plain ASCII.
std::string quoted(std::string_view name);

bool is_utf8(std::string_view text);

}  // namespace tern::pt2
