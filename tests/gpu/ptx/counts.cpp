#include "tests/gpu/ptx/counts.h"

#include <algorithm>
#include <cstdio>

namespace tern::emulated {
namespace {

struct Arithmetic {
  std::string_view opcode;
  int operations;
};
// Comparisons, conversions and signs are not arithmetic.
constexpr Arithmetic kArithmetic[] = {
    {"add", 1},  {"sub", 1},   {"mul", 1}, {"fma", 2}, {"mad", 2}, {"div", 1}, {"rcp", 1},
    {"sqrt", 1}, {"rsqrt", 1}, {"sin", 1}, {"cos", 1}, {"lg2", 1}, {"ex2", 1}, {"tanh", 1},
};

struct Float {
  std::string_view type;
  int values;
};
constexpr Float kFloats[] = {{"f32", 1},   {"f64", 1},    {"f16", 1},  {"bf16", 1},
                             {"f16x2", 2}, {"bf16x2", 2}, {"f32x2", 2}};

bool has_qualifier(const Instruction& instruction, std::string_view qualifier) {
  return std::find(instruction.qualifiers.begin(), instruction.qualifiers.end(), qualifier) !=
         instruction.qualifiers.end();
}

constexpr int kLanes = 32;

// "m16n8k16": a multiplication and an addition for each m, n and k, by all lanes together.
int matrix_operations(const Instruction& instruction) {
  int m = 0, n = 0, k = 0;
  for (const std::string& qualifier : instruction.qualifiers) {
    if (std::sscanf(qualifier.c_str(), "m%dn%dk%d", &m, &n, &k) == 3) return 2 * m * n * k / kLanes;
  }
  return 0;
}

}  // namespace

std::string count_operations(const Instruction& instruction) {
  if (instruction.opcode == "mma")
    return " T->tensor_operations += " + std::to_string(matrix_operations(instruction)) + ";";
  const auto* found = std::find_if(std::begin(kArithmetic), std::end(kArithmetic),
                                   [&](const Arithmetic& one) { return one.opcode == instruction.opcode; });
  if (found == std::end(kArithmetic)) return "";
  for (const Float& one : kFloats) {
    if (has_qualifier(instruction, one.type))
      return " T->operations += " + std::to_string(found->operations * one.values) + ";";
  }
  return "";
}

std::string_view access_kind(const Instruction& instruction) {
  if (instruction.opcode.starts_with("ld")) return "TERN_LOAD";
  return instruction.opcode == "st" ? "TERN_STORE" : "TERN_ATOMIC";
}

}  // namespace tern::emulated
