// Functions of strings with Python's meaning.
#pragma once

#include <string>
#include <string_view>

namespace tern::jinja {

/// Removes white space at both ends.
std::string strip(std::string_view s);

}  // namespace tern::jinja
