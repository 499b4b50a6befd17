// Names from files: UTF-8 check, and their form in messages.
#pragma once

#include <string>
#include <string_view>

namespace tern::pt2 {

/// Quoted, at most 200 bytes of it, and with everything escaped that is not plain ASCII.
std::string quote(std::string_view name);

bool is_utf8(std::string_view text);

}  // namespace tern::pt2
