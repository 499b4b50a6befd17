#include "devices/gpu/libraries/microscaled.h"

#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "devices/gpu/libraries/attributes.h"
#include "devices/gpu/libraries/lt_types.h"
#include "devices/gpu/libraries/part_nodes.h"
#include "lt_names.h"

namespace tern::gpu {
namespace {

constexpr std::int64_t kBlock = 32;

bool is_op(const tern_device_op& op, const char* name) {
  return std::strcmp(op.name, name) == 0;
}

/// True if the attribute holds exactly that number.
bool attribute_equals(const tern_device_op& op, const char* name, std::int64_t value) {
  const tern_device_attribute* a = attribute(op, name);
  return a != nullptr && a->count == 1 && a->integers[0] == value;
}

/// Operand `k` of `node`, in blocks.
std::optional<MicroscaledOperand> blocked_operand(const tern_device_part_node& node, std::int32_t k) {
  if (!attribute_equals(node.op, "block", kBlock)) return std::nullopt;
  return MicroscaledOperand{node.inputs[k], node.op.inputs[k], attribute_equals(node.op, "layout", 1), {}};
}

std::optional<MicroscaledOperand> dequantized(const tern_device_part& part, std::int32_t before, std::int32_t value) {
  const std::int32_t node = maker(part, before, value);
  if (node < 0 || !is_op(part.nodes[node].op, "dequantize") || use_count(part, value) != 1) return std::nullopt;
  std::optional<MicroscaledOperand> operand = blocked_operand(part.nodes[node], 0);
  if (operand) operand->nodes = {node};
  return operand;
}

/// True if a permute transposes a matrix.
bool swaps_axes(const tern_device_op& op) {
  const tern_device_attribute* axes = attribute(op, "axes");
  return axes != nullptr && axes->count == 2 && (axes->integers[0] + 2) % 2 == 1;
}

/// Transposes a matrix [n, k] with contiguous rows.
void transpose(tern_device_tensor* matrix) {
  std::swap(matrix->sizes[0], matrix->sizes[1]);
  matrix->strides[0] = 1;
  matrix->strides[1] = matrix->sizes[0];
}

/// [k, n] in blocks along k: either a value [n, k], or its dequantized transpose.
std::optional<MicroscaledOperand> right_operand(const tern_device_part& part, std::int32_t product) {
  const tern_device_part_node& node = part.nodes[product];
  std::optional<MicroscaledOperand> b;
  if (is_microscaled(node.op)) {
    b = blocked_operand(node, 1);
  } else {
    const std::int32_t turned = maker(part, product, node.inputs[1]);
    if (turned < 0 || !is_op(part.nodes[turned].op, "permute") || use_count(part, node.inputs[1]) != 1)
      return std::nullopt;
    const std::int32_t from = part.nodes[turned].inputs[0];
    if (!swaps_axes(part.nodes[turned].op)) return std::nullopt;
    b = dequantized(part, turned, from);
    if (b) b->nodes.push_back(turned);
  }
  if (!b || b->elements.rank != 2) return std::nullopt;
  transpose(&b->elements);
  return b;
}

}  // namespace

std::optional<MicroscaledProduct> microscaled_product(const tern_device_part& part, std::int32_t product) {
  const tern_device_part_node& node = part.nodes[product];
  if (!is_op(node.op, "matmul") || node.op.input_count < 2) return std::nullopt;
  auto a = dequantized(part, product, node.inputs[0]);
  auto b = right_operand(part, product);
  if (!a || !b) return std::nullopt;
  return MicroscaledProduct{std::move(*a), std::move(*b)};
}

bool has_microscaled_products(const GpuDevice& d) {
  // Block-scaled products need compute capability 10.0 ("cublasLtMatmul", tables of supported types).
  constexpr int kLeast = 100;
  return names::kLtScaleOfBlocks >= 0 && d.arch.rfind("sm_", 0) == 0 && std::atoi(d.arch.c_str() + 3) >= kLeast;
}

}  // namespace tern::gpu
