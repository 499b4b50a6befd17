#include "tests/gpu/ptx/decoder.h"

#include "tests/gpu/ptx/function_writer.h"

namespace tern::emulated {

Decoder::Decoder(const Instruction& instruction, FunctionWriter& writer)
    : instruction_(&instruction),
      writer_(&writer),
      qualifiers_(instruction.qualifiers.size()),
      operands_(instruction.operands.size()) {}

bool Decoder::consume(std::string_view qualifier) {
  for (std::size_t i = 0; i < qualifiers_.size(); ++i) {
    if (!qualifiers_[i] && instruction_->qualifiers[i] == qualifier) return qualifiers_[i] = true;
  }
  return false;
}

std::string_view Decoder::one_of(std::initializer_list<std::string_view> words) {
  for (std::string_view word : words) {
    if (consume(word)) return word;
  }
  return "";
}

std::string_view Decoder::require_one_of(std::initializer_list<std::string_view> words) {
  const std::string_view found = one_of(words);
  if (found.empty()) {
    std::string all;
    for (std::string_view word : words) all += (all.empty() ? "." : ", .") + std::string(word);
    writer_->fail("one of " + all + " is missing");
  }
  return found;
}

const Type* Decoder::type_if() {
  for (std::size_t i = qualifiers_.size(); i-- > 0;) {
    if (qualifiers_[i]) continue;
    const Type* type = find_type(instruction_->qualifiers[i]);
    if (type) qualifiers_[i] = true;
    return type;
  }
  return nullptr;
}

const Type& Decoder::type() {
  const Type* type = type_if();
  if (!type) writer_->fail("unknown or missing type");
  return *type;
}

const Operand& Decoder::operand(std::size_t i) {
  if (i >= operands_.size()) writer_->fail("operand " + std::to_string(i + 1) + " is missing");
  operands_[i] = true;
  return instruction_->operands[i];
}

void Decoder::finish() const {
  for (std::size_t i = 0; i < qualifiers_.size(); ++i) {
    if (!qualifiers_[i]) writer_->fail("unknown qualifier '." + instruction_->qualifiers[i] + "'");
  }
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    if (!operands_[i]) writer_->fail("unknown operand " + std::to_string(i + 1));
  }
}

}  // namespace tern::emulated
