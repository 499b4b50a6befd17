// tern trace flight FOLDER: finds waiting ranks and differing calls.
#pragma once

#include <string>

namespace tern {

/// Prints the combined findings of a folder's records; returns the exit status: 1 if ranks wait or differ.
int run_flight(const std::string& folder);

}  // namespace tern
