// "partition": a product or convolution with its subsequent activation or scales, as one library call; products of
// operands in scaled blocks with their dequantizing nodes.
#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "devices/gpu/handles.h"
#include "devices/gpu/libraries/activation.h"
#include "devices/gpu/libraries/lt_types.h"
#include "devices/gpu/libraries/microscaled.h"
#include "devices/gpu/libraries/part_nodes.h"
#include "devices/gpu/libraries/product.h"
#include "devices/gpu/libraries/provider.h"
#include "devices/gpu/libraries/residual.h"
#include "devices/gpu/libraries/shared_library.h"
#include "devices/gpu/profiler.h"
#include "devices/gpu/status.h"
#include "devices/gpu/tables.h"
#include "lt_names.h"

namespace tern::gpu {
namespace {

/// Nodes from an activation back to the library's node, last first, with only size changes between. Intermediate
/// results have no other readers. Empty without a match.
std::vector<std::int32_t> chain(const tern_device_part& part, std::int32_t activation) {
  if (activation_of(part.nodes[activation].op) == Activation::none) return {};
  std::vector<std::int32_t> nodes = chain_before(part, activation, part.nodes[activation].inputs[0]);
  const Provider* provider = nodes.empty() ? nullptr : provider_of(part.nodes[nodes.back()].op);
  if (provider == nullptr || !provider->has_activations) return {};
  nodes.insert(nodes.begin(), activation);
  return nodes;
}

/// A scaled product: the multiplying pointwise node `last`, and the product.
struct ScaledProduct {
  Scaling scaling;
  std::int32_t product = -1;
};
std::optional<ScaledProduct> scaled_product(const tern_device_part& part, std::int32_t last) {
  const tern_device_part_node& n = part.nodes[last];
  for (std::int32_t k = 0; k < n.op.input_count; ++k) {
    const std::int32_t before = use_count(part, n.inputs[k]) == 1 ? maker(part, last, n.inputs[k]) : -1;
    if (before < 0 || std::strcmp(part.nodes[before].op.name, "matmul") != 0) continue;
    const tern_device_op& op = part.nodes[before].op;
    const bool has_addend = op.input_count > 2 && op.inputs[2].dtype != 0;
    if (!is_float8(op) || has_addend) continue;
    if (const std::optional<Scaling> scaling = scaling_of(n.op, k)) return ScaledProduct{*scaling, before};
  }
  return std::nullopt;
}

/// True if the library can add a matrix to the product, in addition to a possible vector.
bool has_sum(const tern_device_op& product) {
  if (!has_product(product) || is_float8(product)) return false;
  const std::optional<Product> p = product_of(product);
  return p && p->addend != Addend::matrix;
}

tern_device_status choose(std::int32_t device, const tern_device_part* part, std::int32_t* groups) {
  TERN_GPU_ENTER(device);
  std::fill_n(groups, part->node_count, -1);
  for (std::int32_t i = 0; i < part->node_count; ++i) {
    for (const std::int32_t node : chain(*part, i)) groups[node] = i;
    if (const auto sum = residual_sum(*part, i); sum && has_sum(part->nodes[sum->nodes.back()].op))
      for (const std::int32_t node : sum->nodes) groups[node] = i;
    if (const auto scaled = scaled_product(*part, i)) groups[i] = groups[scaled->product] = i;
  }
  for (std::int32_t i = 0; i < part->node_count && has_microscaled_products(*d); ++i) {
    const auto product = microscaled_product(*part, i);
    if (!product) continue;
    groups[i] = i;
    for (const MicroscaledOperand* operand : {&product->a, &product->b})
      for (const std::int32_t node : operand->nodes) groups[node] = i;
  }
  return TERN_DEVICE_OK;
}

/// A node, the positions of its operands among the part's operands, and its library calls. Thread-safe: nodes are
/// modified only under the library's lock.
struct Fused {
  tern_device_op op;
  std::vector<tern_device_tensor> inputs;
  tern_device_tensor output;
  std::vector<std::ptrdiff_t> positions;  ///< -1: absent operand
  std::unique_ptr<VendorKernel> node;
};

/// Position of a value among the part's operands.
std::ptrdiff_t place_of(const tern_device_part& part, std::int32_t value) {
  const std::int32_t* end = part.inputs + part.input_count;
  const std::int32_t* place = std::find(part.inputs, end, value);
  return place == end ? -1 : place - part.inputs;
}

/// Describes the node for the library, with further operands after its own.
std::unique_ptr<Fused> fuse(const tern_device_part& part, const tern_device_part_node& node) {
  auto fused = std::make_unique<Fused>();
  fused->op = node.op;
  fused->inputs.assign(node.op.inputs, node.op.inputs + node.op.input_count);
  for (std::int32_t k = 0; k < node.op.input_count; ++k) fused->positions.push_back(place_of(part, node.inputs[k]));
  fused->output = node.op.outputs[0];
  return fused;
}
void finish(Fused* fused) {
  fused->op.input_count = static_cast<std::int32_t>(fused->inputs.size());
  fused->op.inputs = fused->inputs.data();
  fused->op.outputs = &fused->output;
}

std::unique_ptr<Fused> activated(const GpuDevice& d, const tern_device_part& part) {
  std::unique_ptr<Fused> fused = fuse(part, part.nodes[0]);  // the last node's result has as many elements
  finish(fused.get());
  fused->node = provider_of(fused->op)->prepare(d, fused->op, activation_of(part.nodes[part.node_count - 1].op));
  return fused;
}

std::unique_ptr<Fused> summed(const GpuDevice& d, const tern_device_part& part, const ResidualSum& sum) {
  const tern_device_part_node& last = part.nodes[part.node_count - 1];
  std::unique_ptr<Fused> fused = fuse(part, part.nodes[sum.nodes.back()]);  // the sum has as many elements
  fused->inputs.resize(3);
  fused->positions.resize(3, -1);
  fused->inputs.push_back(last.op.inputs[sum.operand]);
  fused->positions.push_back(place_of(part, last.inputs[sum.operand]));
  finish(fused.get());
  fused->node = prepare_product_sum(d, fused->op);
  return fused;
}

std::unique_ptr<Fused> scaled(const GpuDevice& d, const tern_device_part& part, const ScaledProduct& s) {
  const tern_device_part_node& last = part.nodes[part.node_count - 1];
  std::unique_ptr<Fused> fused = fuse(part, part.nodes[s.product]);
  fused->output = last.op.outputs[0];
  fused->inputs.resize(2);
  fused->positions.resize(2);
  for (const std::int32_t operand : {s.scaling.bias, s.scaling.a, s.scaling.b}) {
    fused->inputs.push_back(operand < 0 ? tern_device_tensor{} : last.op.inputs[operand]);
    fused->positions.push_back(operand < 0 ? -1 : place_of(part, last.inputs[operand]));
  }
  finish(fused.get());
  fused->node = prepare_scaled_product(d, fused->op, s.scaling.scales);
  return fused;
}

/// Returns a product of operands in blocks; null if the part contains further nodes.
std::unique_ptr<Fused> microscaled(const GpuDevice& d, const tern_device_part& part, const MicroscaledProduct& p) {
  if (p.a.nodes.size() + p.b.nodes.size() + 1 != static_cast<std::size_t>(part.node_count)) return nullptr;
  std::unique_ptr<Fused> fused = fuse(part, part.nodes[part.node_count - 1]);
  fused->inputs[0] = p.a.elements, fused->inputs[1] = p.b.elements;
  fused->positions[0] = place_of(part, p.a.value), fused->positions[1] = place_of(part, p.b.value);
  finish(fused.get());
  fused->node = prepare_microscaled_product(d, fused->op, {p.a.has_tiled_scales, p.b.has_tiled_scales});
  return fused;
}

tern_device_status compile(std::int32_t device, const tern_device_part* part, tern_device_partition* partition,
                           std::uint64_t* scratch_bytes) {
  TERN_GPU_ENTER(device);
  // Intermediate results may have readers outside the part, because Tern divides groups.
  const std::int32_t end = part->node_count - 1;
  const tern_device_part_node& last = part->nodes[end];
  std::unique_ptr<Fused> fused;
  if (part->output_count == 1 && part->outputs[0] == last.outputs[0]) {
    if (chain(*part, end).size() == static_cast<std::size_t>(part->node_count)) {
      fused = activated(*d, *part);
    } else if (const auto sum = residual_sum(*part, end);
               sum && sum->nodes.size() == static_cast<std::size_t>(part->node_count)) {
      fused = summed(*d, *part, *sum);
    } else if (const auto s = scaled_product(*part, end); s && part->node_count == 2) {
      fused = scaled(*d, *part, *s);
    } else if (const auto m = microscaled_product(*part, end)) {
      fused = microscaled(*d, *part, *m);
    }
  }
  if (fused == nullptr || fused->node == nullptr)
    return failed(TERN_DEVICE_UNSUPPORTED, "no library runs these nodes in one call");
  *scratch_bytes = fused->node->scratch_bytes();
  *partition = reinterpret_cast<tern_device_partition>(fused.release());
  return TERN_DEVICE_OK;
}

tern_device_status run(std::int32_t device, tern_device_stream stream, tern_device_partition partition,
                       const tern_device_address* inputs, const tern_device_address* outputs,
                       tern_device_address scratch) {
  TERN_GPU_ENTER(device);
  const Fused& fused = *reinterpret_cast<const Fused*>(partition);
  std::vector<tern_device_tensor> operands = fused.inputs;
  for (std::size_t k = 0; k < operands.size(); ++k)
    if (fused.positions[k] >= 0) operands[k].data = inputs[fused.positions[k]];
  tern_device_tensor output = fused.output;
  output.data = outputs[0];
  tern_device_op op = fused.op;
  op.inputs = operands.data();
  op.outputs = &output;
  const TimedWork timed(*stream);
  return fused.node->run(stream->current(), op, scratch);
}

tern_device_status release(std::int32_t device, tern_device_partition partition) {
  const DeviceScope scope(device);
  delete reinterpret_cast<Fused*>(partition);
  return TERN_DEVICE_OK;
}

constexpr std::uint32_t kFlags = names::kLtScaleOfBlocks >= 0 ? TERN_DEVICE_PARTITION_MICROSCALED : 0;
constexpr tern_device_partition_functions kFused = {sizeof kFused, kFlags, choose, compile, run, release};

}  // namespace

const tern_device_partition_functions* partition_functions() {
  return wants_libraries() ? &kFused : nullptr;
}

}  // namespace tern::gpu
