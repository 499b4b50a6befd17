// One device of a plugin, as the runtime uses it: checked calls, memory, compiled kernels. Open to the end of the
// process, shared by all threads.
#pragma once

#include <tern/device.h>

#include <bit>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernels/portable/launcher.h"
#include "runtime/devices/allocator.h"
#include "runtime/devices/plugin.h"
#include "runtime/devices/upload.h"

namespace tern {

class ArchivedKernels;
struct LoadedKernel;

/// A kernel in a module that the device has loaded.
struct ModuleKernel {
  std::string name;
  bool from_archive = false;
  std::string refused;  ///< why a module of the archive was not taken
  tern_device_module module = nullptr;
  tern_device_kernel kernel = nullptr;

  portable::KernelHandle handle() const { return std::bit_cast<portable::KernelHandle>(kernel); }
};

class Device {
 public:
  /// "xpu" (the first one) or "xpu:1". If the device does not exist, the error lists those that do.
  static Device& open(const std::string& name);

  Device(const Plugin& plugin, int index);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const std::string& name() const { return name_; }
  const tern_device_properties& properties() const { return properties_; }
  const portable::Target& target() const { return target_; }
  const tern_device_plugin& plugin() const { return table_; }
  int index() const { return index_; }

  /// Throws where `status` is not TERN_DEVICE_OK; `what` begins the message: "copying to the device".
  void check(tern_device_status status, const char* what) const;

  /// Tables of further functions (tern/device.h); null where the plugin has none.
  const tern_device_graph_functions* graphs() const { return graphs_; }
  const tern_device_graph_conditional_functions* graph_conditionals() const { return conditionals_; }
  const tern_device_event_functions* events() const { return events_; }
  const tern_device_override_functions* overrides() const { return overrides_; }
  const tern_device_profiler_functions* profiler() const { return profiler_; }
  const tern_device_pinned_memory_functions* pinned_memory() const { return pinned_memory_; }
  const tern_device_partition_functions* partitions() const { return partitions_; }
  const tern_device_collective_functions* collectives() const { return collectives_; }

  bool maps_memory() const { return maps_memory_; }
  /// 256-byte aligned. Fails with out_of_memory.
  std::byte* allocate(std::uint64_t bytes);
  /// Waits for all streams that are open, too.
  void free(std::byte* data);
  /// Waits for all streams that are open.
  void wait() noexcept;
  DeviceMemoryStats memory() const;
  void set_memory_limit(std::uint64_t bytes);
  /// Releases segments without blocks in use, and buffers for uploads.
  void release_memory();
  Staging& staging() { return staging_; }

  /// The compiled kernel of an archive, or else compiled from the text. Equal keys mean equal texts.
  portable::KernelHandle kernel(const std::string& key, const std::string& name,
                                const std::function<std::string()>& text);
  /// Searches these kernels before it compiles a text, as long as another owner keeps them alive.
  void add_kernels(const std::shared_ptr<const ArchivedKernels>& kernels);
  /// Overrides TERN_NO_COMPILE.
  void allow_compiling() { may_compile_ = true; }
  std::vector<LoadedKernel> loaded_kernels() const;

 private:
  friend class DeviceStream;
  std::unique_ptr<BlockAllocator> make_allocator();
  void load(const std::string& name, std::int32_t dialect, std::span<const char> bytes, ModuleKernel& kernel);
  bool load_archived(const std::string& name, const std::string& text, ModuleKernel& kernel);
  void compile(const std::string& name, const std::string& text, ModuleKernel& kernel);

  const tern_device_plugin& table_;
  int index_;
  std::string name_;
  tern_device_properties properties_{};
  portable::Target target_;
  mutable std::mutex memory_mutex_, kernels_mutex_, streams_mutex_;
  std::unique_ptr<BlockAllocator> allocator_;
  std::unordered_map<std::string, ModuleKernel> kernels_;
  std::vector<std::weak_ptr<const ArchivedKernels>> archived_;
  bool may_compile_ = true;
  std::map<tern_device_stream, bool>
      streams_;  ///< that are open; true: the device is recording it, nothing is under way
  const tern_device_graph_functions* graphs_ = nullptr;
  const tern_device_graph_conditional_functions* conditionals_ = nullptr;
  const tern_device_event_functions* events_ = nullptr;
  const tern_device_override_functions* overrides_ = nullptr;
  const tern_device_profiler_functions* profiler_ = nullptr;
  const tern_device_pinned_memory_functions* pinned_memory_ = nullptr;
  const tern_device_partition_functions* partitions_ = nullptr;
  const tern_device_collective_functions* collectives_ = nullptr;
  Staging staging_{*this};
  bool maps_memory_ = false;
};

/// TERN_NO_COMPILE in the environment.
bool compiling_is_forbidden();

}  // namespace tern
