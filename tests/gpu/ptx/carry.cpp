// Arithmetic with the carry flag, and products of bytes with two types.
#include <string>

#include "tests/gpu/ptx/handlers.h"

namespace tern::emulated {
namespace {

// "add.cc, addc{.cc}, sub.cc, subc{.cc}, mad{c}.{lo,hi}{.cc}": with .cc the carry-out is written, with c the carry-in
// is added. Of a subtraction the flag is the borrow.
void write_carry(Decoder& instruction, FunctionWriter& writer, const std::string& sum, bool reads, bool subtracts,
                 const Type& type) {
  const bool writes = instruction.consume("cc");
  const std::string bits(unsigned_of(type.bits)), all = writer.temporary();
  writer.statement("u128 " + all + " = " + sum + (reads ? (subtracts ? " - carry" : " + carry") : "") + ";");
  if (writes) writer.statement("carry = (" + all + " >> " + std::to_string(type.bits) + ") & 1;");
  writer.assign(instruction.operand(0), type, "(" + std::string(type.c) + ")" + all);
}

std::string wide(Decoder& instruction, FunctionWriter& writer, std::size_t operand, const Type& type) {
  return "(u128)" + writer.value(instruction.operand(operand), type_named("b" + std::to_string(type.bits)));
}

void write_addc(Decoder& instruction, FunctionWriter& writer) {
  const Type& type = instruction.type();
  writer.note_carry();
  write_carry(instruction, writer, wide(instruction, writer, 1, type) + " + " + wide(instruction, writer, 2, type),
              instruction.opcode() == "addc", false, type);
}

void write_subc(Decoder& instruction, FunctionWriter& writer) {
  const Type& type = instruction.type();
  writer.note_carry();
  write_carry(instruction, writer, wide(instruction, writer, 1, type) + " - " + wide(instruction, writer, 2, type),
              instruction.opcode() == "subc", true, type);
}

void write_madc(Decoder& instruction, FunctionWriter& writer) {
  const Type& type = instruction.type();
  writer.note_carry();
  const std::string half(instruction.require_one_of({"lo", "hi"})), name(type.name), bits(unsigned_of(type.bits));
  const std::string product = "(u128)(" + bits + ")mul_" + half + "_" + name + "(" +
                              writer.value(instruction.operand(1), type) + ", " +
                              writer.value(instruction.operand(2), type) + ")";
  write_carry(instruction, writer, product + " + " + wide(instruction, writer, 3, type), instruction.opcode() == "madc",
              false, type);
}

void write_dot(Decoder& instruction, FunctionWriter& writer) {
  const Type& b = instruction.type();
  const Type& a = instruction.type();
  std::string name = instruction.opcode();
  if (name == "dp2a") name += "_" + std::string(instruction.require_one_of({"lo", "hi"}));
  const Type& word = type_named("b32");
  // "If either type is signed, the result is s32", of the same bits.
  writer.assign(instruction.operand(0), word,
                name + "_" + std::string(a.name) + "_" + std::string(b.name) + "(" +
                    writer.value(instruction.operand(1), word) + ", " + writer.value(instruction.operand(2), word) +
                    ", " + writer.value(instruction.operand(3), word) + ")");
}

// An instruction with .cc has another handler than without.
template <void (*Carry)(Decoder&, FunctionWriter&)>
void write_if_carry(Decoder& instruction, FunctionWriter& writer) {
  Decoder look = instruction;
  if (look.consume("cc")) return Carry(instruction, writer);
  if (!handle_arithmetic(instruction, writer)) writer.fail("unknown instruction");
}

constexpr Handler kHandlers[] = {
    {"add", write_if_carry<write_addc>},
    {"addc", write_addc},
    {"sub", write_if_carry<write_subc>},
    {"subc", write_subc},
    {"mad", write_if_carry<write_madc>},
    {"madc", write_madc},
    {"dp4a", write_dot},
    {"dp2a", write_dot},
};

}  // namespace

std::span<const Handler> carry_handlers() {
  return kHandlers;
}

}  // namespace tern::emulated
