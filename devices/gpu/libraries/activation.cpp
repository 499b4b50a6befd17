#include "devices/gpu/libraries/activation.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "devices/gpu/libraries/dtype_numbers.h"

namespace tern::gpu {
namespace {

struct ActivationNotation {
  const char* expression;
  Activation activation;
};
// Notation of `text` below for aten.relu, and for GELU in aten.gelu and Hugging Face's models.
constexpr ActivationNotation kNotations[] = {
    {"max(0,x)", Activation::relu},
    {"mul(add(1,tanh(mul(0.797885,add(mul(0.044715,pow(x,3)),x)))),mul(0.5,x))", Activation::gelu},
};
constexpr const char* kCommutative[] = {"add", "mul", "max"};
constexpr std::int64_t kMaxInstructions = 16;

/// The expression as nested calls of operand x, with sorted operands of commutative functions. "?" marks operations
/// unknown to the libraries.
std::string text(const tern_device_op& op, std::int64_t at) {
  const tern_device_instruction& i = op.instructions[at];
  const std::string name = i.name;
  // A step of another type rounds (or truncates) in places where the library would not.
  if (i.dtype != kF32 && i.dtype != op.inputs[0].dtype) return "?";
  if (name == "load") return i.integer == 0 ? "x" : "?";
  if (name == "convert") return text(op, i.operands[0]);  // between the element type and the arithmetic type
  if (name == "constant") {
    char number[32];
    std::snprintf(number, sizeof number, "%g", i.number);
    return number;
  }
  std::vector<std::string> operands;
  for (const std::int32_t k : i.operands)
    if (k >= 0) operands.push_back(text(op, k));
  if (std::ranges::find(kCommutative, name) != std::end(kCommutative)) std::ranges::sort(operands);
  std::string all;
  for (const std::string& o : operands) all += (all.empty() ? "" : ",") + o;
  all = name + "(" + all + ")";
  return all == "mul(mul(x,x),x)" ? "pow(x,3)" : all;
}

}  // namespace

Activation activation_of(const tern_device_op& op) {
  if (std::strcmp(op.name, "pointwise") != 0 || op.input_count != 1 || op.instruction_count > kMaxInstructions ||
      op.inputs[0].dtype != op.outputs[0].dtype || op.inputs[0].dtype < kF16 || op.inputs[0].dtype > kF32)
    return Activation::none;
  const std::string expression = text(op, op.instruction_count - 1);
  for (const ActivationNotation& k : kNotations)
    if (expression == k.expression) return k.activation;
  return Activation::none;
}

}  // namespace tern::gpu
