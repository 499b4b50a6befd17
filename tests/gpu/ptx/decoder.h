// An instruction during its translation. Tracks examined qualifiers and operands, so that none is silently ignored.
// Copies refer to the same instruction.
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
  bool consume(std::string_view qualifier);
  // The first of the words present in the instruction; "" if none.
  std::string_view one_of(std::initializer_list<std::string_view> words);
  // Like one_of, but fails without a match.
  std::string_view require_one_of(std::initializer_list<std::string_view> words);
  // The last remaining qualifier, which must be a type.
  const Type& type();
  // Like type(); null if the last qualifier is no type, or none remains.
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
