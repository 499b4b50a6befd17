// The translation of instructions, by groups of opcodes. A handler writes the statements of an instruction.
#pragma once

#include <span>
#include <string_view>

#include "tests/gpu/ptx/decoder.h"
#include "tests/gpu/ptx/function_writer.h"

namespace tern::emulated {

struct Handler {
  std::string_view opcode;
  void (*write)(Decoder& instruction, FunctionWriter& writer);
};

// True if the arithmetic table has a rule for the instruction.
bool handle_arithmetic(Decoder& instruction, FunctionWriter& writer);
std::span<const Handler> comparison_handlers();
std::span<const Handler> conversion_handlers();
std::span<const Handler> carry_handlers();
std::span<const Handler> memory_handlers();
std::span<const Handler> atomic_handlers();
std::span<const Handler> control_handlers();
std::span<const Handler> group_handlers();
std::span<const Handler> matrix_handlers();

// Translates any instruction; fails without a handler.
void handle(Decoder& instruction, FunctionWriter& writer);

}  // namespace tern::emulated
