// cvt and mov.
#include <string>

#include "tests/gpu/ptx/handlers.h"

namespace tern::emulated {
namespace {

bool is_integer(const Type& type) {
  return type.kind == TypeKind::kUnsigned || type.kind == TypeKind::kSigned || type.kind == TypeKind::kBits;
}
bool is_pair(const Type& type) {
  return type.name.size() > 2 && type.name.substr(type.name.size() - 2) == "x2";
}
std::string upper(std::string_view text) {
  std::string all(text);
  for (char& c : all) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return all;
}

struct Modes {
  std::string rounding;  // rn, rz, rm, rp, rna; "" if none
  std::string integral;  // rni, rzi, rmi, rpi; "" if none
  bool ftz, sat, finite, relu;
};

// A value of a float format as f64, exact for all formats.
std::string as_f64(const Type& type, const std::string& value, const Modes& modes) {
  if (type.name == "f64") return value;
  if (type.name == "f32") return "(f64)" + (modes.ftz ? "ftz_f32(" + value + ")" : value);
  if (type.name == "f16" || type.name == "bf16") {
    const std::string name(type.name);
    return "(f64)f32_of_" + name + "(" + (modes.ftz && name == "f16" ? value : value) + ")";
  }
  return "tern_ptx_decode(TERN_" + std::string(type.format) + ", " + value + ")";
}

// Rounds to nearest by a function if the format has one, else by tern_ptx_encode.
std::string from_f64(const Type& type, const std::string& value, const Modes& modes) {
  const std::string mode = modes.rounding.empty() ? "rn" : modes.rounding;
  std::string result;
  if (type.name == "f64") {
    result = value;
  } else if (type.name == "f32" && mode != "rna") {
    result = "f32_" + mode + "_f64(" + value + ")";
  } else if ((type.name == "f16" || type.name == "bf16") && mode == "rn" && !modes.finite) {
    result = std::string(type.name) + "_of_f64(" + value + ")";
  } else {
    result = "(" + std::string(type.c) + ")tern_ptx_encode(TERN_" + std::string(type.format) + ", TERN_" + upper(mode) +
             ", " + (modes.finite ? "1" : "0") + ", " + value + ")";
  }
  return result;
}

std::string integer_to_float(const Type& to, const Type& from, const std::string& value, const Modes& modes) {
  const std::string mode = modes.rounding.empty() ? "rn" : modes.rounding;
  const std::string wide = from.kind == TypeKind::kSigned ? "s64" : "u64";
  if (to.kind == TypeKind::kFloat) return std::string(to.name) + "_" + mode + "_" + wide + "(" + value + ")";
  // A long double holds every integer of 64 bits.
  return "(" + std::string(to.c) + ")tern_ptx_encode(TERN_" + std::string(to.format) + ", TERN_" + upper(mode) +
         ", 0, (" + wide + ")" + value + ")";
}

std::string converted(const Type& to, const Type& from, const std::string& value, const Modes& modes,
                      FunctionWriter& writer) {
  if (is_integer(to) && is_integer(from)) {
    if (!modes.rounding.empty() || !modes.integral.empty()) writer.fail("rounding of an integer");
    return modes.sat ? std::string(to.c) + "_clamped(" + value + ")" : "(" + std::string(to.c) + ")" + value;
  }
  if (is_integer(to)) {
    if (modes.integral.empty()) writer.fail("a conversion to an integer needs .rni, .rzi, .rmi or .rpi");
    return std::string(to.c) + "_of_double(" + modes.integral + "_f64(" + as_f64(from, value, modes) + "), " +
           (from.name == "f64" ? "1" : "0") + ")";
  }
  std::string result;
  if (is_integer(from)) {
    result = integer_to_float(to, from, value, modes);
  } else {
    std::string wide = as_f64(from, value, modes);
    if (!modes.integral.empty()) {
      if (to.name != from.name) writer.fail("rounding to an integer with a change of the type");
      wide = modes.integral + "_f64(" + wide + ")";
    }
    if (modes.relu) wide = "relu_double(" + wide + ")";
    result = from_f64(to, wide, modes);
  }
  const std::string name(to.name);
  if (modes.ftz && to.name == "f32") result = "ftz_f32(" + result + ")";
  if (modes.sat) result = "sat_" + name + "(" + result + ")";
  return result;
}

// "cvt.rn.f16x2.f32 d, a, b: a is in the upper half of d"; or from another pair, half by half.
void write_pairs(Decoder& instruction, FunctionWriter& writer, const Type& to, const Type& from, const Modes& modes) {
  const Type& one = type_named(to.name == "e2m1x2" || to.name == "e2m3x2" || to.name == "e3m2x2" || to.name == "ue8m0x2"
                                   ? to.name
                                   : to.name.substr(0, to.name.size() - 2));
  std::string high, low;
  Type from_one = from;
  if (is_pair(from)) {
    const std::string a = writer.temporary();
    writer.statement("u32 " + a + " = " + writer.value(instruction.operand(1), from) + ";");
    const std::string half = std::to_string(from.bits / 2), mask = std::to_string((1 << (from.bits / 2)) - 1);
    high = "((" + a + " >> " + half + ") & " + mask + ")";
    low = "(" + a + " & " + mask + ")";
    if (const Type* half_type = find_type(from.name.substr(0, from.name.size() - 2))) from_one = *half_type;
  } else {
    high = writer.value(instruction.operand(1), from);
    low = writer.value(instruction.operand(2), from);
  }
  const std::string half = std::to_string(to.bits / 2);
  writer.assign(instruction.operand(0), to,
                "((u32)" + converted(one, from_one, high, modes, writer) + " << " + half + ") | (u32)" +
                    converted(one, from_one, low, modes, writer));
}

void write_cvt(Decoder& instruction, FunctionWriter& writer) {
  const Type& from = instruction.type();
  const Type& to = instruction.type();
  Modes modes;
  modes.rounding = instruction.one_of({"rn", "rz", "rm", "rp", "rna"});
  modes.integral = instruction.one_of({"rni", "rzi", "rmi", "rpi"});
  modes.ftz = instruction.consume("ftz");
  modes.sat = instruction.consume("sat");
  modes.finite = instruction.consume("satfinite");
  modes.relu = instruction.consume("relu");
  if (is_pair(to)) return write_pairs(instruction, writer, to, from, modes);
  if (is_pair(from)) writer.fail("a conversion of a pair to one value");
  writer.assign(instruction.operand(0), to,
                converted(to, from, writer.value(instruction.operand(1), from), modes, writer));
}

// "mov packs a vector of registers into a wider one, or unpacks one": the first is the lowest.
void write_mov(Decoder& instruction, FunctionWriter& writer) {
  const Type& type = instruction.type();
  const Operand &to = instruction.operand(0), &from = instruction.operand(1);
  const auto part_of = [&](const Operand& vector) -> const Type& {
    const int bits = type.bits / static_cast<int>(std::max<std::size_t>(vector.items.size(), 1));
    return type_named("b" + std::to_string(bits));
  };
  if (to.kind == OperandKind::kVector) {
    const Type& part = part_of(to);
    const std::string all = writer.temporary();
    writer.statement(std::string(type.c) + " " + all + " = " + writer.value(from, type) + ";");
    for (std::size_t i = 0; i < to.items.size(); ++i) {
      writer.assign(to.items[i], part,
                    "(" + std::string(part.c) + ")(" + all + " >> " + std::to_string(i * part.bits) + ")");
    }
  } else if (from.kind == OperandKind::kVector) {
    const Type& part = part_of(from);
    std::string all;
    for (std::size_t i = 0; i < from.items.size(); ++i) {
      all += (i ? " | " : "") + ("(" + std::string(type.c) + ")") + writer.value(from.items[i], part) + " << " +
             std::to_string(i * part.bits);
    }
    writer.assign(to, type, all);
  } else {
    writer.assign(to, type, writer.value(from, type));
  }
}

constexpr Handler kHandlers[] = {
    {"cvt", write_cvt},
    {"mov", write_mov},
};

}  // namespace

std::span<const Handler> conversion_handlers() {
  return kHandlers;
}

}  // namespace tern::emulated
