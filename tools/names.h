// Messages for unknown names: they list the existing names, the nearest spelling first.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tern {

/// Number of letters to insert, remove, replace or swap with their neighbour. Long names count by their first 64 bytes.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The name spelt nearest to `unknown`, or empty if none is near.
std::string near_miss(std::string_view unknown, const std::vector<std::string>& names);

/// "there is no input 'imges'; did you mean 'images'? The inputs are: images, mask". `kind` is a noun in the singular.
/// Lists at most 20 names, the nearest first; untrusted names are escaped.
std::string unknown_name(std::string_view kind, std::string_view unknown, std::vector<std::string> names);

/// Throws invalid_argument with the message of unknown_name.
[[noreturn]] void fail_unknown_name(std::string_view kind, std::string_view unknown, std::vector<std::string> names);

}  // namespace tern
