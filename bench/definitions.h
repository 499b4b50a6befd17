// Speed of native kernels relative to the definitions of their ops.
#pragma once

#include <string>

namespace tern::bench {

/// Times each native kernel against the definition, compiled like for the library, on nodes of typical model sizes,
/// with one thread and with two. Prints a line for each node; the last figure is the definition's time divided by the
/// native kernel's. `only`: a single op; empty: all.
void measure_definitions(const std::string& only);

}  // namespace tern::bench
