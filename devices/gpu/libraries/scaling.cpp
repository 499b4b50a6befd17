#include "devices/gpu/libraries/scaling.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "devices/gpu/libraries/dtype_numbers.h"
#include "devices/gpu/libraries/instructions.h"

namespace tern::gpu {
namespace {

constexpr std::int64_t kMaxScalingInstructions = 16;

/// Collects the factors of a product; returns false if a step is not a multiplication.
bool factors(const tern_device_op& op, std::int32_t at, std::vector<std::int32_t>* all) {
  const tern_device_instruction& i = op.instructions[at];
  if (is_named(i, "mul") && i.dtype == kF32) return factors(op, i.operands[0], all) && factors(op, i.operands[1], all);
  if (!is_named(i, "load") || op.inputs[i.integer].dtype != kF32) return false;
  all->push_back(static_cast<std::int32_t>(i.integer));
  return true;
}

/// True for a contiguous vector along `axis` of the result.
bool is_along(const tern_device_op& op, const tern_device_tensor& t, std::int32_t axis) {
  const tern_device_tensor& out = op.outputs[0];
  for (std::int32_t a = 0; a < out.rank; ++a) {
    const std::int32_t own = a - (out.rank - t.rank);
    const std::int64_t size = own < 0 ? 1 : t.sizes[own];
    if (size != (a == axis ? out.sizes[a] : 1)) return false;
    if (size > 1 && t.strides[own] != 1) return false;
  }
  return true;
}

bool is_one(const tern_device_tensor& t) {
  return std::all_of(t.sizes, t.sizes + t.rank, [](std::int64_t n) { return n == 1; });
}

}  // namespace

std::optional<Scaling> scaling_of(const tern_device_op& op, std::int32_t product) {
  const tern_device_tensor& out = op.outputs[0];
  if (std::strcmp(op.name, "pointwise") != 0 || op.instruction_count > kMaxScalingInstructions || out.rank != 2 ||
      op.inputs[product].rank != 2 || !std::equal(out.sizes, out.sizes + 2, op.inputs[product].sizes))
    return std::nullopt;
  auto at = static_cast<std::int32_t>(op.instruction_count - 1);
  if (is_named(op.instructions[at], "convert")) at = op.instructions[at].operands[0];
  Scaling s;
  if (const tern_device_instruction& i = op.instructions[at]; is_named(i, "add") && i.dtype == kF32) {
    const std::int32_t first = loaded(op, i.operands[0]);
    s.bias = first >= 0 ? first : loaded(op, i.operands[1]);
    at = i.operands[first >= 0 ? 1 : 0];
    if (s.bias < 0 || op.inputs[s.bias].dtype != out.dtype || !is_along(op, op.inputs[s.bias], 1)) return std::nullopt;
  }
  std::vector<std::int32_t> all;
  if (!factors(op, at, &all) || all.size() != 3) return std::nullopt;
  const auto own = std::ranges::find(all, product);
  if (own == all.end()) return std::nullopt;
  all.erase(own);
  const tern_device_tensor &x = op.inputs[all[0]], &y = op.inputs[all[1]];
  const bool is_turned = !is_along(op, x, 0) || !is_along(op, y, 1);
  s.a = all[is_turned ? 1 : 0];
  s.b = all[is_turned ? 0 : 1];
  if (is_one(x) && is_one(y)) {
    s.scales = Scales::tensor;
  } else if (is_along(op, op.inputs[s.a], 0) && is_along(op, op.inputs[s.b], 1)) {
    s.scales = Scales::rows;
  } else {
    return std::nullopt;
  }
  return s;
}

}  // namespace tern::gpu
