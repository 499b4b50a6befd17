// Names that users give and that nothing has: messages that list the real ones, the nearest spelling first.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tern {

/// How many letters have to be inserted, removed, replaced or swapped with their neighbour. Long names count by their
/// first 64 bytes.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The name that is spelt nearly as `wanted`, or empty where none is near.
std::string near_miss(std::string_view wanted, const std::vector<std::string>& names);

/// "there is no input 'imges'; did you mean 'images'? The inputs are: images, mask". `kind` is a noun in the singular.
/// At most 20 names are listed, the nearest first; untrusted names are escaped.
std::string unknown_name(std::string_view kind, std::string_view wanted, std::vector<std::string> names);

/// Throws invalid_argument with that message.
[[noreturn]] void fail_unknown_name(std::string_view kind, std::string_view wanted, std::vector<std::string> names);

}  // namespace tern
