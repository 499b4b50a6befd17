#include "devices/gpu/libraries/residual.h"

#include <algorithm>
#include <cstring>

#include "devices/gpu/libraries/dtype_numbers.h"
#include "devices/gpu/libraries/instructions.h"
#include "devices/gpu/libraries/part_nodes.h"

namespace tern::gpu {
namespace {

constexpr std::int64_t kMaxResidualInstructions = 8;

/// True if the node adds two operands laid out like its result.
bool is_sum(const tern_device_op& op) {
  if (std::strcmp(op.name, "pointwise") != 0 || op.input_count != 2 || op.instruction_count > kMaxResidualInstructions)
    return false;
  const tern_device_tensor& out = op.outputs[0];
  if (out.dtype < kF16 || out.dtype > kF32) return false;
  for (const tern_device_tensor* t : {&op.inputs[0], &op.inputs[1]}) {
    if (t->dtype != out.dtype || t->rank != out.rank || !std::equal(t->sizes, t->sizes + t->rank, out.sizes))
      return false;
    std::int64_t expected = 1;
    for (std::int32_t axis = t->rank - 1; axis >= 0; --axis) {
      if (t->sizes[axis] > 1 && t->strides[axis] != expected) return false;
      expected *= t->sizes[axis];
    }
  }
  auto at = static_cast<std::int32_t>(op.instruction_count - 1);
  if (is_named(op.instructions[at], "convert")) at = op.instructions[at].operands[0];
  const tern_device_instruction& sum = op.instructions[at];
  if (!is_named(sum, "add") || (sum.dtype != kF32 && sum.dtype != out.dtype)) return false;
  const std::int32_t x = loaded(op, sum.operands[0]), y = loaded(op, sum.operands[1]);
  return x >= 0 && y >= 0 && x != y;
}

}  // namespace

std::optional<ResidualSum> residual_sum(const tern_device_part& part, std::int32_t last) {
  const tern_device_part_node& n = part.nodes[last];
  if (!is_sum(n.op)) return std::nullopt;
  // Prefers the later of two products: the other result exists by then.
  std::optional<ResidualSum> found;
  for (const std::int32_t k : {0, 1}) {
    std::vector<std::int32_t> nodes = chain_before(part, last, n.inputs[k]);
    if (nodes.empty() || std::strcmp(part.nodes[nodes.back()].op.name, "matmul") != 0) continue;
    if (found && found->nodes.back() > nodes.back()) continue;
    nodes.insert(nodes.begin(), last);
    found = ResidualSum{1 - k, std::move(nodes)};
  }
  return found;
}

}  // namespace tern::gpu
