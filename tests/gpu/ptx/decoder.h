// An instruction while it is translated. It keeps count of the qualifiers and operands that were looked at, so that
// none is passed over in silence. Copies look at the same instruction.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "tests/gpu/ptx/module.h"
#include "tests/gpu/ptx/types.h"

namespace tern::emulated {

class FunctionWriter;

class Decoder {
 public:
  Decoder(const Instruction& instruction, FunctionWriter& writer);

  const std::string& opcode() const { return instruction_->opcode; }
  bool has(std::string_view qualifier);
  // The first of the words that the instruction has; "" if none.
  std::string_view one_of(std::initializer_list<std::string_view> words);
  // As one_of, and fails if there is none.
  std::string_view need(std::initializer_list<std::string_view> words);
  // The last qualifier that was not taken yet, which has to be a type.
  const Type& type();
  // As type(); null if that is no type or none is left.
  const Type* type_if();
  std::size_t operands() const { return instruction_->operands.size(); }
  const Operand& operand(std::size_t i);
  // Fails if a qualifier or an operand was not looked at.
  void finish() const;

 private:
  const Instruction* instruction_;
  FunctionWriter* writer_;
  std::vector<bool> qualifiers_, operands_;
};

}  // namespace tern::emulated
