#include <cmath>
#include <optional>

#include "dtypes/convert.h"
#include "exporter/builder.h"
#include "exporter/constants.h"
#include "exporter/passes/fold/fold.h"

namespace tern {
namespace {

/// Numbers of an immutable one-dimensional state, if `v` is one.
std::optional<std::vector<double>> numbers(const Program& program, const Function& f, ValueId v,
                                           std::vector<std::uint32_t>& states) {
  const FunctionInput* input = state_input(f, v);
  if (input == nullptr) return std::nullopt;
  states.push_back(input->state);
  return constant_numbers(program, input->state);
}

/// convert(convert(x) * scale + shift)
PointwiseExpr affine(DType t, DType compute) {
  PointwiseExpr e;
  const auto push = [&](Scalar op, DType type, std::uint16_t a = 0, std::uint16_t b = 0, std::int64_t integer = 0) {
    e.code.push_back({op, type, a, b, 0, integer});
    return static_cast<std::uint16_t>(e.code.size() - 1);
  };
  std::uint16_t x = push(Scalar::load, t);
  if (t != compute) x = push(Scalar::convert, compute, x);
  const std::uint16_t scale = push(Scalar::load, compute, 0, 0, 1);
  const std::uint16_t product = push(Scalar::mul, compute, x, scale);
  const std::uint16_t shift = push(Scalar::load, compute, 0, 0, 2);
  const std::uint16_t sum = push(Scalar::add, compute, product, shift);
  if (t != compute) push(Scalar::convert, t, sum);
  return e;
}

/// False where the statistics are not constant.
bool fold(Program& program, std::uint32_t function, std::size_t index, std::vector<std::uint32_t>& states) {
  const Function& f = program.functions[function];
  const Node n = f.nodes[index];
  const TensorType x = f.values[static_cast<std::size_t>(n.inputs[0])].type;
  if (!is_floating(x.dtype) || elements_per_byte(x.dtype) != 1 || x.rank() < 2) return false;
  const auto operand = [&](std::size_t i) { return i < n.inputs.size() ? n.inputs[i] : kNoValue; };
  const auto mean = numbers(program, f, operand(1), states), var = numbers(program, f, operand(2), states);
  if (!mean || !var || mean->size() != var->size()) return false;
  std::vector<double> factor(mean->size(), 1), offset(mean->size(), 0);
  if (operand(3) != kNoValue) {
    const auto weight = numbers(program, f, operand(3), states);
    if (!weight || weight->size() != factor.size()) return false;
    factor = *weight;
  }
  if (operand(4) != kNoValue) {
    const auto bias = numbers(program, f, operand(4), states);
    if (!bias || bias->size() != factor.size()) return false;
    offset = *bias;
  }
  const double epsilon = n.number(AttrKey::epsilon);
  for (std::size_t k = 0; k < factor.size(); ++k) {
    factor[k] = factor[k] / std::sqrt((*var)[k] + epsilon);
    offset[k] = offset[k] - (*mean)[k] * factor[k];
  }
  if (scale_convolution(program, function, index, factor, offset, states)) return true;
  const DType compute = compute_type(x.dtype);
  std::vector<std::int64_t> shape(static_cast<std::size_t>(x.rank()) - 1, 1);
  shape[0] = static_cast<std::int64_t>(factor.size());
  Builder b(program, function);
  Node affine_node;
  affine_node.op = Op::pointwise;
  affine_node.origin = n.origin;
  affine_node.annotations = n.annotations;
  affine_node.outputs = n.outputs;
  affine_node.inputs = {n.inputs[0], add_numbers(b, compute, shape, factor), add_numbers(b, compute, shape, offset)};
  affine_node.expr = affine(x.dtype, compute);
  program.functions[function].nodes[index] = std::move(affine_node);
  return true;
}

}  // namespace

const FunctionInput* state_input(const Function& f, ValueId v) {
  for (const FunctionInput& input : f.inputs) {
    if (input.value == v && input.kind == FunctionInput::Kind::state) return &input;
  }
  return nullptr;
}

std::optional<std::vector<double>> constant_numbers(const Program& program, std::uint32_t state) {
  const State& s = program.states[state];
  if (s.is_mutable || s.type.rank() != 1 || s.type.quantized() || !is_floating(s.type.dtype) ||
      elements_per_byte(s.type.dtype) != 1)
    return std::nullopt;
  const std::int64_t size = element_size(s.type.dtype);
  const std::span<const std::byte> bytes = program.source->bytes(s.storage);
  std::vector<double> result;
  for (std::int64_t i = 0; i < s.type.shape[0].value(); ++i) {
    const std::int64_t index = (s.offset + i * s.strides[0]) * size;
    if (index < 0 || static_cast<std::uint64_t>(index + size) > bytes.size()) return std::nullopt;
    double value = 0;
    convert(bytes.data() + index, s.type.dtype, &value, DType::f64, 1);
    result.push_back(value);
  }
  return result;
}

ValueId add_numbers(Builder& b, DType t, const std::vector<std::int64_t>& sizes, std::span<const double> numbers) {
  std::vector<std::byte> bytes(numbers.size() * static_cast<std::size_t>(element_size(t)));
  convert(numbers.data(), DType::f64, bytes.data(), t, static_cast<std::int64_t>(numbers.size()));
  return add_constant(b, t, sizes, bytes.data());
}

void fold_batch_norms(Program& program, std::vector<bool>& folded_states) {
  for (std::uint32_t f = 0; f < program.functions.size(); ++f) {
    for (std::size_t i = 0; i < program.functions[f].nodes.size(); ++i) {
      if (program.functions[f].nodes[i].op != Op::batch_norm) continue;
      std::vector<std::uint32_t> states;
      const std::size_t old_node_count = program.functions[f].nodes.size();
      if (!fold(program, f, i, states)) continue;
      i -= old_node_count - program.functions[f].nodes.size();
      for (std::uint32_t s : states) folded_states[s] = true;
    }
  }
}

}  // namespace tern
