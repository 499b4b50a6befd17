// Programs that run on their own.
#pragma once

#include <string>

namespace tern::platform {

/// Starts a program of PATH in a session of its own, without a shell. Discards its output.
bool start_program(std::string name, std::string argument);

}  // namespace tern::platform
