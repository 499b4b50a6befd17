#include "runtime/devices/partition.h"

#include <algorithm>
#include <list>

#include "runtime/devices/op_description.h"
#include "runtime/devices/stream.h"

namespace tern {
namespace {

class PartDescription {
 public:
  explicit PartDescription(const PartRequest& request) {
    for (const Node* n : request.nodes) {
      std::vector<TensorView> in, out;
      for (const ValueId v : n->inputs) in.push_back(v == kNoValue ? TensorView{} : request.view(v));
      for (const ValueId v : n->outputs) out.push_back(v == kNoValue ? TensorView{} : request.view(v));
      tern_device_part_node node{};
      node.size = sizeof node;
      node.op = ops_.emplace_back(*n, in, out).op();
      node.inputs = numbers(n->inputs, request).data();
      node.outputs = numbers(n->outputs, request).data();
      nodes_.push_back(node);
    }
    const std::vector<std::int32_t>&inputs = numbers(request.inputs, request),
          &outputs = numbers(request.outputs, request);
    part_.size = sizeof part_;
    part_.node_count = static_cast<std::int32_t>(nodes_.size());
    part_.value_count = static_cast<std::int32_t>(values_.size());
    part_.input_count = static_cast<std::int32_t>(inputs.size());
    part_.output_count = static_cast<std::int32_t>(outputs.size());
    part_.nodes = nodes_.data();
    part_.values = values_.data();
    part_.inputs = inputs.data();
    part_.outputs = outputs.data();
  }
  const tern_device_part* get() const { return &part_; }

 private:
  const std::vector<std::int32_t>& numbers(std::span<const ValueId> values, const PartRequest& request) {
    std::vector<std::int32_t>& list = lists_.emplace_back();
    for (const ValueId v : values) {
      const auto [at, is_new] = number_of_.try_emplace(v, static_cast<std::int32_t>(values_.size()));
      if (v != kNoValue && is_new) values_.push_back(tensor_of(request.view(v), true));
      list.push_back(v == kNoValue ? -1 : at->second);
      if (v == kNoValue) number_of_.erase(at);
    }
    return list;
  }

  tern_device_part part_{};
  std::list<OpDescription> ops_;
  std::vector<tern_device_part_node> nodes_;
  std::vector<tern_device_tensor> values_;
  std::map<ValueId, std::int32_t> number_of_;
  std::list<std::vector<std::int32_t>> lists_;
};

struct PartState : KernelState {
  std::unique_ptr<const CompiledPart> part;
};

std::vector<tern_device_address> addresses_of(std::span<const TensorView> views) {
  std::vector<tern_device_address> addresses;
  for (const TensorView& v : views) addresses.push_back(reinterpret_cast<tern_device_address>(v.data));
  return addresses;
}

void run(KernelCall& call) {
  const auto& state = *static_cast<const PartState*>(call.state);
  const auto inputs = addresses_of(call.in), outputs = addresses_of(call.out);
  const Device& device = state.part->device;
  device.check(
      device.partitions()->run(device.index(), call.device->device_stream()->used(), state.part->handle, inputs.data(),
                               outputs.data(), reinterpret_cast<tern_device_address>(call.scratch.data())),
      "running a part of the program");
}

std::size_t scratch(const KernelCall& call) {
  return static_cast<const PartState*>(call.state)->part->scratch;
}

}  // namespace

std::vector<std::int32_t> choose_groups(const Device& device, const PartRequest& request) {
  std::vector<std::int32_t> groups(request.nodes.size(), -1);
  if (groups.empty()) return groups;
  const PartDescription description(request);
  const tern_device_status status = device.partitions()->choose(device.index(), description.get(), groups.data());
  if (status == TERN_DEVICE_UNSUPPORTED) return std::vector<std::int32_t>(groups.size(), -1);
  device.check(status, "choosing parts of the program");
  return groups;
}

CompiledPart::~CompiledPart() {
  if (handle == nullptr) return;
  device.wait();
  device.partitions()->release(device.index(), handle);
}

std::unique_ptr<CompiledPart> compile_part(Device& device, const PartRequest& request) {
  auto part = std::make_unique<CompiledPart>(device);
  const PartDescription description(request);
  const tern_device_status status =
      device.partitions()->compile(device.index(), description.get(), &part->handle, &part->scratch);
  if (status == TERN_DEVICE_OK && part->handle != nullptr) return part;
  part->handle = nullptr;
  if (status != TERN_DEVICE_UNSUPPORTED) device.check(status, "compiling a part of the program");
  return part;
}

std::unique_ptr<KernelState> part_state(std::unique_ptr<CompiledPart> part) {
  auto state = std::make_unique<PartState>();
  state->part = std::move(part);
  return state;
}

const Kernel& part_kernel() {
  static const Kernel kernel{.run = run, .scratch = scratch, .strided = kAllStrided};
  return kernel;
}

}  // namespace tern
