// Eight sessions of one prepared program: what their first runs cost beside later ones, and the memory that they take.
#pragma once

#include <string>

namespace tern::bench {

/// Prints one line for the archive. Each session runs on one thread, after the others.
void measure_sessions(const std::string& path);

}  // namespace tern::bench
