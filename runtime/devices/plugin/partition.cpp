#include <bit>
#include <list>
#include <map>

#include "runtime/devices/plugin/device.h"
#include "runtime/devices/plugin/op_description.h"
#include "runtime/devices/plugin/part_compiler.h"

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
      OpDescription& op = ops_.emplace_back(*n, in, out);
      if (request.precision) op.set_precision(request.precision(*n));
      node.op = op.op();
      node.inputs = numbers(n->inputs, request).data();
      node.outputs = numbers(n->outputs, request).data();
      nodes_.push_back(node);
    }
    const std::vector<std::int32_t>&inputs = numbers(request.inputs, request),
          &outputs = numbers(request.outputs, request);
    device_part_.size = sizeof device_part_;
    device_part_.node_count = static_cast<std::int32_t>(nodes_.size());
    device_part_.value_count = static_cast<std::int32_t>(values_.size());
    device_part_.input_count = static_cast<std::int32_t>(inputs.size());
    device_part_.output_count = static_cast<std::int32_t>(outputs.size());
    device_part_.nodes = nodes_.data();
    device_part_.values = values_.data();
    device_part_.inputs = inputs.data();
    device_part_.outputs = outputs.data();
  }
  const tern_device_part* get() const { return &device_part_; }

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

  tern_device_part device_part_{};
  std::list<OpDescription> ops_;
  std::vector<tern_device_part_node> nodes_;
  std::vector<tern_device_tensor> values_;
  std::map<ValueId, std::int32_t> number_of_;
  std::list<std::vector<std::int32_t>> lists_;
};

std::vector<tern_device_address> addresses_of(std::span<const TensorView> views) {
  std::vector<tern_device_address> addresses;
  for (const TensorView& v : views) addresses.push_back(reinterpret_cast<tern_device_address>(v.data));
  return addresses;
}

class CompiledPart : public portable::OwnKernel {
 public:
  explicit CompiledPart(PluginDevice& device) : device_(device), functions_(*device.tables().partitions) {}
  ~CompiledPart() override {
    if (handle_ == nullptr) return;
    device_.wait();
    functions_.release(device_.index(), handle_);
  }
  CompiledPart(const CompiledPart&) = delete;
  CompiledPart& operator=(const CompiledPart&) = delete;

  /// Returns false if the device refuses the part.
  bool compile(const PartDescription& description) {
    const tern_device_status status = functions_.compile(device_.index(), description.get(), &handle_, &scratch_);
    if (status == TERN_DEVICE_OK) return handle_ != nullptr;
    handle_ = nullptr;
    if (status != TERN_DEVICE_UNSUPPORTED) device_.check(status, "compiling a part of the program");
    return false;
  }
  std::size_t scratch() const override { return scratch_; }
  void run(const KernelCall& call) const override {
    const auto inputs = addresses_of(call.in), outputs = addresses_of(call.out);
    const auto stream = std::bit_cast<tern_device_stream>(call.launcher->use_stream());
    device_.check(functions_.run(device_.index(), stream, handle_, inputs.data(), outputs.data(),
                                 reinterpret_cast<tern_device_address>(call.scratch.data())),
                  "running a part of the program");
  }

 private:
  PluginDevice& device_;
  const tern_device_partition_functions& functions_;
  tern_device_partition handle_ = nullptr;
  std::uint64_t scratch_ = 0;
};

}  // namespace

bool PluginParts::takes_microscaled() const {
  return (device_.tables().partitions->flags & TERN_DEVICE_PARTITION_MICROSCALED) != 0;
}

std::vector<std::int32_t> PluginParts::choose(const PartRequest& request) {
  std::vector<std::int32_t> groups(request.nodes.size(), -1);
  if (groups.empty()) return groups;
  const PartDescription description(request);
  const tern_device_status status =
      device_.tables().partitions->choose(device_.index(), description.get(), groups.data());
  if (status == TERN_DEVICE_UNSUPPORTED) return std::vector<std::int32_t>(groups.size(), -1);
  device_.check(status, "choosing parts of the program");
  return groups;
}

std::unique_ptr<portable::OwnKernel> PluginParts::compile(const PartRequest& request) {
  auto part = std::make_unique<CompiledPart>(device_);
  if (!part->compile(PartDescription(request))) return nullptr;
  return part;
}

}  // namespace tern
