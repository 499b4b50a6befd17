// What native kernels gain over the definitions of their ops.
#pragma once

#include <string>

namespace tern::bench {

/// Times each native kernel against the definition, compiled as it is for the library, on nodes of sizes that models
/// have, with one thread and with two. Prints a line for each node; the last figure is the definition's time divided by
/// the native kernel's. `only`: one op; empty: all.
void measure_definitions(const std::string& only);

}  // namespace tern::bench
