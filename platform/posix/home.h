// Folder of the user.
#pragma once

#include <string>

namespace tern::platform {

/// $HOME; empty if the folder does not belong to this process's user.
std::string own_home();

}  // namespace tern::platform
