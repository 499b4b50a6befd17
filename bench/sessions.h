// Eight sessions of a prepared program: costs of first runs relative to later runs, and memory.
#pragma once

#include <string>

namespace tern::bench {

/// Prints a line for the archive. The sessions run one after the other, each on a single thread.
void measure_sessions(const std::string& path);

}  // namespace tern::bench
