// Parts of a function that the device compiles as a whole ("partition" of tern/device.h).
#pragma once

#include <tern/device.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <tuple>
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
std::shared_ptr<CompiledPart> compile_part(Device& device, const PartRequest& request);

/// What a plan's step keeps, and what runs it.
std::unique_ptr<KernelState> part_state(std::shared_ptr<CompiledPart> part);
const Kernel& part_kernel();

/// Function, section, values of the function's symbols.
using PartitionKey = std::tuple<std::uint32_t, std::uint32_t, std::vector<std::int64_t>>;

/// The parts of a prepared program, made once for each section at the same sizes, for all its sessions.
class Partitions {
 public:
  using Key = PartitionKey;
  std::shared_ptr<const std::vector<Part>> parts(const Key& key, const std::function<std::vector<Part>()>& make);
  /// Compiled as long as some plan has it.
  std::shared_ptr<CompiledPart> compiled(const Key& key, std::size_t part,
                                         const std::function<std::shared_ptr<CompiledPart>()>& make);

 private:
  struct Section {
    std::shared_ptr<const std::vector<Part>> parts;
    std::map<std::size_t, std::weak_ptr<CompiledPart>> compiled;
  };
  Section& section(const Key& key);
  std::mutex mutex_;
  std::map<Key, Section> sections_;
};

}  // namespace tern
