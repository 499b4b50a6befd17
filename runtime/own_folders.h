// Where parts of Tern that are loaded at run time lie: device plugins, engines of groups, the server of `tern view`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tern {

/// The folders `name` beside the library or command that this code is in: in a build folder, beside an installed
/// library, and in the installed library folder, seen from an installed command. They need not exist. Empty if the
/// system does not tell where this code is.
std::vector<std::string> own_folders(std::string_view name);

}  // namespace tern
