// Text of a model on standard output.
#pragma once

#include <string>
#include <string_view>

namespace tern {

/// Prints a part of an answer at once. Escapes control characters for a terminal, except for line breaks and tabs.
void show_answer(std::string_view text);

/// Reads standard input to its end. Throws invalid_argument beyond `max_bytes` bytes, io for a failed read.
std::string read_standard_input(std::size_t max_bytes);

}  // namespace tern
