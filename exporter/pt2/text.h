// Names from files: whether they are UTF-8, and how messages show them.
#pragma once

#include <string>
#include <string_view>

namespace tern::pt2 {

/// Quoted, at most 200 bytes of it, and with everything escaped that is not plain ASCII.
std::string quote(std::string_view name);

bool is_utf8(std::string_view text);

}  // namespace tern::pt2
