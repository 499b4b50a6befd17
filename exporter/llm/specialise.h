// Functions in which one symbolic size is another size.
#pragma once

#include <cstdint>
#include <string>

#include "schema/program.h"

namespace tern {

/// Copies `function`, with its bodies, and replaces the symbol of that number by `value`. Symbols that nodes bind get
/// fresh ones in the copy, since two nodes cannot bind one symbol. Returns the copy's number.
std::uint32_t specialise(Program& program, std::uint32_t function, int symbol, std::int64_t value,
                         const std::string& name);

/// Replaces the symbol of that number by `size` in `function` and its bodies, which nothing else runs.
void replace_symbol(Program& program, std::uint32_t function, int symbol, Dim size);

}  // namespace tern
