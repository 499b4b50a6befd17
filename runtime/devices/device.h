// The runtime's interface to a device: the CPU (devices/cpu/) or a plugin's device (devices/plugin/).
#pragma once

#include <tern/kernels.h>
#include <tern/memory.h>
#include <tern/stream.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/kernel.h"
#include "kernels/portable/launcher.h"
#include "runtime/devices/constants.h"
#include "runtime/devices/stream.h"
#include "schema/program.h"

namespace tern {

class ArchivedKernels;
class PartCompiler;

struct DeviceTraits {
  /// The device uses host memory and completes the work of a stream call before returning: the caller's tensors are
  /// used in place.
  bool host_memory = false;
  /// The device uses kernels/cpu: kernels take epilogues, choose among algorithms, pack weights, and divide their work
  /// by the run's thread count.
  bool native_kernels = false;
  /// Work-items cooperate in groups: attention skips fully masked keys. Synchronisation with the host is slow.
  bool groups = false;
};

/// Open until the process ends, shared by all threads.
class Device {
 public:
  /// Opens "cpu", "" (the CPU), "xpu" (the first device) or "xpu:1". If the device does not exist, the error lists the
  /// existing devices.
  static Device& open(const std::string& name);

  Device(std::string name, DeviceTraits traits) : name_(std::move(name)), traits_(traits) {}
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// "cpu", "xpu:0".
  const std::string& name() const { return name_; }
  const DeviceTraits& traits() const { return traits_; }

  /// Aligned to at least 64 bytes. Fails with out_of_memory. `user`: the only stream that uses the memory before a
  /// wait; freed memory that its earlier work still uses may then be returned. Null: any stream, and the host.
  virtual std::byte* allocate(std::uint64_t bytes, DeviceStream* user = nullptr) = 0;
  /// Accepts null. Pending work may still use the memory.
  virtual void free(std::byte* data) = 0;
  /// Allocates host memory, 64-byte aligned; pinned memory (DMA copies) if the device has some. Fails with
  /// out_of_memory.
  virtual std::byte* allocate_host(std::uint64_t bytes);
  virtual void free_host(std::byte* data);
  /// Opens a stream of the whole device or of a share. Fails if the device has no such share.
  virtual std::shared_ptr<DeviceStream> open_stream(const StreamShare& share = {}) = 0;
  virtual const KernelTable& kernels(bool reproducible) const = 0;
  /// `in_place`: bytes may stay in the mapped file if the device can read them.
  virtual std::shared_ptr<Constants> constants(const Program& program, bool in_place) = 0;

  /// While the result lives, searches the program's archived kernels before compiling. Null if the device takes no
  /// archived kernels.
  virtual std::shared_ptr<const ArchivedKernels> take_kernels(const Program& program);
  /// True if the device may compute products in another precision (PrepareOptions::precision).
  virtual bool takes_precision() const { return traits_.native_kernels; }
  /// Compiler for several nodes as one kernel; null if unsupported.
  virtual PartCompiler* part_compiler() { return nullptr; }

  /// Statistics and limits of memory managed by the device, and of loaded kernels. Fail (invalid_argument) if the
  /// device manages no memory.
  virtual DeviceMemoryStats memory() const;
  virtual void set_memory_limit(std::uint64_t bytes);
  virtual void release_memory();
  virtual std::vector<LoadedKernel> loaded_kernels() const;
  /// Name of a kernel of the device's launcher; "kernel" if unknown.
  virtual std::string kernel_name(portable::KernelHandle) const { return "kernel"; }
  /// Members of the device's entry in a trace's "deviceProperties", as JSON: `"name": "..."`.
  virtual std::string describe() const { return {}; }

 protected:
  void set_groups(bool there) { traits_.groups = there; }

 private:
  [[noreturn]] void refuse(const char* what) const;
  std::string name_;
  DeviceTraits traits_;
};

/// The device "cpu".
Device& cpu_device();

}  // namespace tern
