// Parts of a function that the device compiles as a whole ("partition" of tern/device.h).
#pragma once

#include <tern/device.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "kernels/kernel.h"

namespace tern {

class Device;

/// Nodes of a function that run as one, at the place of the last.
struct Part {
  std::vector<std::uint32_t> nodes;
  std::vector<ValueId> inputs;   ///< from outside
  std::vector<ValueId> outputs;  ///< read outside
};

/// Nodes, with constant attributes, and values of known sizes, for a device to look at.
struct PartRequest {
  std::span<const Node* const> nodes;
  std::span<const ValueId> inputs, outputs;
  std::function<TensorView(ValueId)> view;  ///< data is the address of what never changes, else null
};

/// The group of each node, -1: the device does not take it.
std::vector<std::int32_t> choose_groups(const Device& device, const PartRequest& request);

struct CompiledPart {
  explicit CompiledPart(Device& device) : device(device) {}
  ~CompiledPart();
  CompiledPart(const CompiledPart&) = delete;
  CompiledPart& operator=(const CompiledPart&) = delete;
  Device& device;
  tern_device_partition handle = nullptr;  ///< null: the device does not take it after all
  std::uint64_t scratch = 0;
};
std::unique_ptr<CompiledPart> compile_part(Device& device, const PartRequest& request);

/// What a plan's step keeps, and what runs it.
std::unique_ptr<KernelState> part_state(std::unique_ptr<CompiledPart> part);
const Kernel& part_kernel();

}  // namespace tern
