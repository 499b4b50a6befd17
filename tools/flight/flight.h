// tern trace flight FOLDER: who waits for whom, and which calls differ.
#pragma once

#include <string>

namespace tern {

/// Prints what the records of a folder say together; the exit status: 1 where ranks wait or differ.
int run_flight(const std::string& folder);

}  // namespace tern
