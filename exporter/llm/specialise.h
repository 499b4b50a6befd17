// Functions with a symbolic size replaced by another size.
#pragma once

#include <cstdint>
#include <string>

#include "schema/program.h"

namespace tern {

/// Copies `function`, with its bodies, and replaces the numbered symbol by `size`. Symbols bound by nodes get fresh
/// symbols in the copy: two nodes cannot bind one symbol. Returns the copy's number.
std::uint32_t specialise(Program& program, std::uint32_t function, int symbol, Dim size, const std::string& name);

/// Replaces the numbered symbol by `size` in `function` and its bodies; no other function may run them.
void replace_symbol(Program& program, std::uint32_t function, int symbol, Dim size);

}  // namespace tern
