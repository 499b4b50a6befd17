// Symbolic sizes on the command line: --size NAME=NUMBER.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "schema/program.h"

namespace tern {

/// Numbers by the name of a symbol, in the given order.
using GivenSizes = std::map<std::string, std::vector<std::int64_t>>;

/// The symbols of the whole program, and the symbols in the types of a function's inputs (chosen by the caller).
std::vector<std::string> size_names(const Program& program);
std::vector<std::string> size_names(const Program& program, const Function& function);

/// Parses the texts. Fails (invalid_argument) for a name missing in `names`, listing `names`, and for a number outside
/// the symbol's range.
GivenSizes parse_sizes(const std::vector<std::string>& texts, const Program& program,
                       const std::vector<std::string>& names);

/// The last number of each name.
std::map<std::string, std::int64_t> last_sizes(const GivenSizes& sizes);

/// The value of each expression of the program's pool; kUndefined if a symbol without a number is needed.
std::vector<std::int64_t> evaluate_sizes(const Program& program, const std::map<std::string, std::int64_t>& sizes);

/// "s0 (2 to 512)": a symbol and its range.
std::string size_text(const Symbol& symbol);

}  // namespace tern
