// Special registers of PTX, as expressions of C.
#pragma once

#include <string>
#include <string_view>

namespace tern::emulated {

// "" for an unknown name.
std::string special_register(std::string_view name, int bits);

}  // namespace tern::emulated
