// The device interface of the portable kernels: kernels compiled from text, launches, memory. The runtime implements
// this interface over a plugin (runtime/devices/).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace tern {
struct KernelCall;
}

namespace tern::portable {

/// The languages of tern/device.h for emitted text, with the same numbers.
enum class Dialect : std::uint8_t { cpp = 0, opencl = 1, cuda = 2, hip = 3, metal = 4 };

/// Properties of the device used in texts.
struct Target {
  Dialect dialect = Dialect::cpp;
  bool has_double = true;
  std::uint32_t vector_floats = 0;  ///< see tern_device_properties
  bool groups = false;              ///< TERN_DEVICE_GROUPS
  bool sparse = false;              ///< TERN_DEVICE_SPARSE
  /// Texts support views of any rank and strides, for texts compiled beforehand.
  bool any_strides = false;
};

/// Local memory in bytes that a group may use without a special request to the driver.
constexpr std::int64_t local_memory_bytes(Dialect dialect) {
  switch (dialect) {
    case Dialect::cuda: return 48 << 10;
    case Dialect::hip: return 64 << 10;
    default: return 32 << 10;  // minimum of every device with groups
  }
}

/// A compiled kernel of a launcher: the handle of a plugin, or a number. Valid for all launchers of the device to the
/// end of the process.
enum class KernelHandle : std::uintptr_t {};

/// The stream of a launcher, as a handle of its device.
enum class StreamHandle : std::uintptr_t {};

/// A kernel from the device's own library, for a node or a part of a program.
class OwnKernel {
 public:
  virtual ~OwnKernel() = default;
  virtual std::size_t scratch() const { return 0; }
  /// Several threads may call `run` at the same time.
  virtual void run(const KernelCall& call) const = 0;
};

/// An argument of a launch: an address, or the bytes of a value.
struct LaunchArgument {
  const void* data = nullptr;
  std::uint32_t size = 0;
  bool is_address = false;
};

/// Owned device memory. Addresses are passed as pointers never dereferenced by the host.
class Memory {
 public:
  virtual ~Memory() = default;
  std::byte* data = nullptr;
};

/// A stream of a device. Belongs to one session; everything runs in the order of the calls.
class Launcher {
 public:
  virtual ~Launcher() = default;
  virtual const Target& target() const = 0;
  /// Compiles `text` to a kernel. Equal keys mean equal texts: `text` is called once per key. Fails if the device's
  /// compiler rejects the text.
  virtual KernelHandle kernel(const std::string& key, const std::string& name,
                              const std::function<std::string()>& text) = 0;
  virtual void launch(KernelHandle kernel, std::span<const LaunchArgument> arguments, std::int64_t items,
                      std::uint32_t group) = 0;
  virtual void copy(std::byte* to, const std::byte* from, std::uint64_t bytes) = 0;  ///< within the device
  virtual void upload(std::byte* to, const void* from, std::uint64_t bytes) = 0;     ///< synchronous
  virtual void download(void* to, const std::byte* from, std::uint64_t bytes) = 0;   ///< synchronous
  virtual std::unique_ptr<Memory> allocate(std::uint64_t bytes) = 0;
  /// An int32 of the stream, initially zero, for the number of a kernel's failure (failure.h).
  virtual std::byte* failure() = 0;
  /// The device's own kernel for a node; null if the device has none, or refuses the node.
  virtual std::unique_ptr<OwnKernel> own_kernel(const KernelCall& call) { return nullptr; }
  /// The stream, for a device's own kernel launching work itself.
  virtual StreamHandle use_stream() { return {}; }
};

}  // namespace tern::portable
