// A device of a plugin: checked calls, memory, compiled kernels.
#pragma once

#include <tern/device.h>

#include <bit>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernels/portable/launcher.h"
#include "runtime/devices/device.h"
#include "runtime/devices/plugin/allocator.h"
#include "runtime/devices/plugin/library.h"
#include "runtime/devices/plugin/part_compiler.h"
#include "runtime/devices/plugin/pending_blocks.h"
#include "runtime/devices/plugin/pinned_memory.h"
#include "runtime/devices/plugin/tables.h"
#include "runtime/devices/plugin/upload.h"

namespace tern {

/// A kernel in a module loaded by the device.
struct ModuleKernel {
  std::string name;
  bool from_archive = false;
  std::string refused;  ///< the device's reason for refusing the archive's module
  tern_device_module module = nullptr;
  tern_device_kernel kernel = nullptr;

  portable::KernelHandle handle() const { return std::bit_cast<portable::KernelHandle>(kernel); }
};

class PluginStream;

class PluginDevice : public Device {
 public:
  PluginDevice(const Plugin& plugin, int index);
  ~PluginDevice() override;

  const tern_device_properties& properties() const { return properties_; }
  const portable::Target& target() const { return target_; }
  const tern_device_plugin& plugin() const { return plugin_; }
  const PluginTables& tables() const { return tables_; }
  int index() const { return index_; }

  /// Throws if `status` is not TERN_DEVICE_OK; `what` begins the message: "copying to the device".
  void check(tern_device_status status, const char* what) const;

  bool maps_memory() const { return maps_memory_; }
  /// 256-byte aligned.
  std::byte* allocate(std::uint64_t bytes, DeviceStream* user = nullptr) override;
  /// The block returns to use after the pending work of all open streams. Waits for that work if another thread's
  /// events are impossible (TERN_DEVICE_EVENTS_ANY_THREAD).
  void free(std::byte* data) override;
  std::byte* allocate_host(std::uint64_t bytes) override;
  void free_host(std::byte* data) override;
  /// Waits for all open streams.
  void wait() noexcept;
  DeviceMemoryStats memory() const override;
  void set_memory_limit(std::uint64_t bytes) override;
  /// Releases unused segments and upload buffers.
  void release_memory() override;
  UploadBuffers& staging() { return staging_; }

  std::shared_ptr<DeviceStream> open_stream(const StreamShare& share) override;
  const KernelTable& kernels(bool reproducible) const override;
  std::shared_ptr<Constants> constants(const Program& program, bool in_place) override;
  bool takes_precision() const override;
  PartCompiler* part_compiler() override { return tables_.partitions == nullptr ? nullptr : &part_compiler_; }

  /// Returns an archive's compiled kernel, else compiles the source text. Equal keys mean equal texts.
  portable::KernelHandle kernel(const std::string& key, const std::string& name,
                                const std::function<std::string()>& text);
  std::shared_ptr<const ArchivedKernels> take_kernels(const Program& program) override;
  /// Overrides TERN_NO_COMPILE.
  void allow_compiling() { may_compile_ = true; }
  std::vector<LoadedKernel> loaded_kernels() const override;
  std::string kernel_name(portable::KernelHandle kernel) const override;
  std::string describe() const override;

 private:
  friend class PluginStream;
  std::unique_ptr<BlockAllocator> make_allocator();
  /// True if events of all threads mark pending work (TERN_DEVICE_EVENTS_ANY_THREAD).
  bool marks_any_thread() const;
  /// Marks all pending work of open streams. Waits for streams that cannot be marked.
  StreamMarks mark_streams() noexcept;
  /// Frees pending blocks whose work has finished. Requires memory_mutex_.
  void reap();
  /// Waits for the work of all pending blocks and frees them. Requires memory_mutex_, which is unlocked meanwhile.
  void finish_pending(std::unique_lock<std::mutex>& lock);
  std::uint64_t find_memory(std::uint64_t bytes, DeviceStream* user, std::unique_lock<std::mutex>& lock);
  /// `target` of a compiled kernel; empty for source text.
  void load(const std::string& name, const std::string& target, std::span<const char> bytes, ModuleKernel& kernel);
  bool load_archived(const std::string& name, const std::string& text, ModuleKernel& kernel);
  void compile(const std::string& name, const std::string& text, ModuleKernel& kernel);

  const tern_device_plugin& plugin_;
  int index_;
  PluginTables tables_;
  tern_device_properties properties_{};
  portable::Target target_;
  mutable std::mutex memory_mutex_, kernels_mutex_, streams_mutex_;
  std::unique_ptr<BlockAllocator> allocator_;
  std::unordered_map<std::string, ModuleKernel> kernels_;
  std::vector<std::weak_ptr<const ArchivedKernels>> archived_;
  std::vector<std::string> kernel_targets_;  ///< targets of archived kernels accepted by the device, best first
  bool may_compile_ = true;
  PendingBlocks pending_{*this};     ///< freed blocks of pending work
  std::set<PluginStream*> streams_;  ///< open streams
  UploadBuffers staging_{*this};
  PinnedMemory pinned_{*this};
  PluginParts part_compiler_{*this};
  bool maps_memory_ = false;
};

/// Targets of archived kernels accepted by a device, best first.
std::vector<std::string> kernel_targets(const tern_device_properties& p);

/// True if TERN_NO_COMPILE is set in the environment.
bool compiling_is_forbidden();

}  // namespace tern
