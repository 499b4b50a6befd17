// Folders of parts loaded at run time: device plugins, engines of groups, the HTTP server of commands.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tern {

/// Lists the folders `name` next to the library or command with this code: in a build folder, next to an installed
/// library, and in the installed library folder as seen from an installed command. The folders need not exist. Empty if
/// the system does not reveal the location of this code.
std::vector<std::string> own_folders(std::string_view name);

}  // namespace tern
