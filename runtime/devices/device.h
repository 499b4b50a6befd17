// What the runtime needs of a device. The CPU is one (devices/cpu/); a plugin's devices are others (devices/plugin/).
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
  /// Its memory is the host's, and a call on a stream has done its work when it returns: the caller's tensors serve
  /// where they lie.
  bool host_memory = false;
  /// Its kernels are those of kernels/cpu: they take epilogues, choose among algorithms, pack weights, and divide their
  /// work by the number of threads of the run.
  bool native_kernels = false;
  /// Groups of items work together: attention passes over keys that a mask hides, and the host is far.
  bool groups = false;
};

/// Open to the end of the process, shared by all threads.
class Device {
 public:
  /// "cpu", "" for the same, "xpu" (the first one) or "xpu:1". If the device does not exist, the error lists those that
  /// do.
  static Device& open(const std::string& name);

  Device(std::string name, DeviceTraits traits) : name_(std::move(name)), traits_(traits) {}
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// "cpu", "xpu:0".
  const std::string& name() const { return name_; }
  const DeviceTraits& traits() const { return traits_; }

  /// 64-byte aligned at least. Fails with out_of_memory.
  virtual std::byte* allocate(std::uint64_t bytes) = 0;
  /// Null is nothing. Waits for the work that may use the memory.
  virtual void free(std::byte* data) = 0;
  /// Memory of the host, 64-byte aligned: such as the device copies to and from by itself, where it has that. Fails
  /// with out_of_memory.
  virtual std::byte* allocate_host(std::uint64_t bytes);
  virtual void free_host(std::byte* data);
  /// Of the whole device, or of a part. Fails where the device has no such part.
  virtual std::shared_ptr<DeviceStream> open_stream(const StreamShare& share = {}) = 0;
  virtual const KernelTable& kernels(bool reproducible) const = 0;
  /// `in_place`: bytes may stay where they are mapped, if the device can read them there.
  virtual std::shared_ptr<Constants> constants(const Program& program, bool in_place) = 0;

  /// Searches the kernels that the program brings before it compiles any, as long as the result lives; null where the
  /// device takes none.
  virtual std::shared_ptr<const ArchivedKernels> take_kernels(const Program& program);
  /// Whether it may make products in another precision (PrepareOptions::precision).
  virtual bool takes_precision() const { return traits_.native_kernels; }
  /// What compiles several nodes as one; null where the device does not.
  virtual PartCompiler* parts() { return nullptr; }

  /// Of memory that the device divides itself, and of kernels that it loads. Fail (invalid_argument) where it does not.
  virtual DeviceMemoryStats memory() const;
  virtual void set_memory_limit(std::uint64_t bytes);
  virtual void release_memory();
  virtual std::vector<LoadedKernel> loaded_kernels() const;
  /// Of one that a launcher of the device launches; "kernel" where it does not know.
  virtual std::string kernel_name(portable::KernelHandle) const { return "kernel"; }
  /// Members of its entry in a trace's "deviceProperties", as JSON: `"name": "..."`.
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
