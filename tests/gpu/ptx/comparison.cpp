// setp, set, selp and slct.
#include <string>

#include "tests/gpu/ptx/handlers.h"

namespace tern::emulated {
namespace {

struct Comparison {
  std::string function;  // name in C, without the type
  std::string join;      // combination with a third operand, a predicate: an operator of C, or none
  bool flushes;
};

Comparison take_comparison(Decoder& instruction, const Type& type, FunctionWriter& writer) {
  std::string name(instruction.require_one_of({"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu",
                                               "geu", "num", "nan", "lo", "ls", "hi", "hs"}));
  // "lo, ls, hi, hs: unsigned comparisons"
  const std::pair<std::string_view, std::string_view> kUnsigned[] = {
      {"lo", "lt"}, {"ls", "le"}, {"hi", "gt"}, {"hs", "ge"}};
  for (const auto& [from, to] : kUnsigned) {
    if (name != from) continue;
    if (type.kind != TypeKind::kUnsigned) writer.fail("an unsigned comparison of another type");
    name = to;
  }
  const std::string_view join = instruction.one_of({"and", "or", "xor"});
  const bool flushes = instruction.consume("ftz") && type.bits != 64;
  return {name, join == "and" ? "&" : join == "or" ? "|" : join == "xor" ? "^" : "", flushes};
}

std::string compared(const Comparison& comparison, const Type& type, std::string a, std::string b) {
  const std::string name(type.name);
  if (comparison.flushes) a = "ftz_" + name + "(" + a + ")", b = "ftz_" + name + "(" + b + ")";
  return comparison.function + "_" + name + "(" + a + ", " + b + ")";
}

bool is_pair(const Type& type) {
  return type.name == "f16x2" || type.name == "bf16x2";
}
// f16 of f16x2.
const Type& half_of(const Type& type) {
  return type_named(type.name.substr(0, type.name.size() - 2));
}

// "p = (a CmpOp b) BoolOp c; q = !(a CmpOp b) BoolOp c". For pairs, p compares the low halves, q the high halves.
void write_setp(Decoder& instruction, FunctionWriter& writer) {
  const Type& type = instruction.type();
  const Type& predicate = type_named("pred");
  const Comparison comparison = take_comparison(instruction, type, writer);
  const Operand& to = instruction.operand(0);
  const std::string a = writer.temporary(), b = writer.temporary(), yes = writer.temporary(), no = writer.temporary();
  const std::string c_type(type.c);
  writer.statement(c_type + " " + a + " = " + writer.value(instruction.operand(1), type) + ", " + b + " = " +
                   writer.value(instruction.operand(2), type) + ";");
  if (is_pair(type)) {
    const Type& half = half_of(type);
    writer.statement("u8 " + yes + " = " + compared(comparison, half, "(u16)" + a, "(u16)" + b) + ", " + no + " = " +
                     compared(comparison, half, "(u16)(" + a + " >> 16)", "(u16)(" + b + " >> 16)") + ";");
  } else {
    writer.statement("u8 " + yes + " = " + compared(comparison, type, a, b) + ", " + no + " = !" + yes + ";");
  }
  if (!comparison.join.empty()) {
    const std::string c = writer.temporary();
    writer.statement("u8 " + c + " = " + writer.predicate(instruction.operand(3)) + ";");
    for (const std::string& result : {yes, no}) writer.statement(result + " " + comparison.join + "= " + c + ";");
  }
  if (to.kind == OperandKind::kPair) {
    writer.assign(to.items[0], predicate, yes);
    writer.assign(to.items[1], predicate, no);
  } else {
    if (is_pair(type)) writer.fail("a comparison of pairs needs two results");
    writer.assign(to, predicate, yes);
  }
}

// All ones, or 1.0 as a float, if the comparison is true.
void write_set(Decoder& instruction, FunctionWriter& writer) {
  const Type& type = instruction.type();
  const Type& result = instruction.type();
  const Comparison comparison = take_comparison(instruction, type, writer);
  std::string join;
  if (!comparison.join.empty()) join = " " + comparison.join + " " + writer.predicate(instruction.operand(3));
  const std::string a = writer.value(instruction.operand(1), type), b = writer.value(instruction.operand(2), type);
  const std::string one = result.name == "f32"    ? "1.0f"
                          : result.name == "f16"  ? "0x3c00"
                          : result.name == "bf16" ? "0x3f80"
                          : result.bits == 16 || result.kind == TypeKind::kUnsigned || result.kind == TypeKind::kSigned
                              ? "-1"
                              : "";
  if (is_pair(type)) {
    const std::string low = "(" + compared(comparison, half_of(type), "(u16)" + a, "(u16)" + b) + join + ")";
    const std::string high =
        "(" + compared(comparison, half_of(type), "(u16)(" + a + " >> 16)", "(u16)(" + b + " >> 16)") + join + ")";
    const std::string each = result.name == "f16x2" ? "0x3c00u" : result.name == "bf16x2" ? "0x3f80u" : "0xffffu";
    writer.assign(instruction.operand(0), result,
                  "(" + low + " ? " + each + " : 0) | (" + high + " ? " + each + " << 16 : 0)");
    return;
  }
  if (one.empty()) writer.fail("a result of this type");
  writer.assign(instruction.operand(0), result,
                "(" + compared(comparison, type, a, b) + join + ") ? (" + std::string(result.c) + ")" + one + " : 0");
}

void write_selp(Decoder& instruction, FunctionWriter& writer) {
  const Type& type = instruction.type();
  writer.assign(instruction.operand(0), type,
                writer.predicate(instruction.operand(3)) + " ? " + writer.value(instruction.operand(1), type) + " : " +
                    writer.value(instruction.operand(2), type));
}

// "d = (c >= 0) ? a : b", for f32 too: "if c is NaN, b".
void write_slct(Decoder& instruction, FunctionWriter& writer) {
  const Type& by = instruction.type();
  const Type& type = instruction.type();
  if (by.name != "s32" && by.name != "f32") writer.fail("a selection by another type than s32 or f32");
  std::string c = writer.value(instruction.operand(3), by);
  if (instruction.consume("ftz")) c = "ftz_f32(" + c + ")";
  writer.assign(
      instruction.operand(0), type,
      c + " >= 0 ? " + writer.value(instruction.operand(1), type) + " : " + writer.value(instruction.operand(2), type));
}

constexpr Handler kHandlers[] = {
    {"setp", write_setp},
    {"set", write_set},
    {"selp", write_selp},
    {"slct", write_slct},
};

}  // namespace

std::span<const Handler> comparison_handlers() {
  return kHandlers;
}

}  // namespace tern::emulated
