// The CPU device: process memory, native kernels, and streams with synchronous calls.
#include "runtime/devices/device.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "kernels/reproducible.h"
#include "platform/memory.h"
#include "runtime/devices/cpu/stream.h"
#include "runtime/trace/recorder.h"

namespace tern {
namespace {

/// Constants in the program's own bytes.
class MappedConstants : public Constants {
 public:
  explicit MappedConstants(const Program& program) : source_(program.source) {}
  /// Does nothing: the planner checks the bytes read by runs; packed weights are not read.
  void bring(std::span<const std::uint32_t> storages, DeviceStream& stream) override {}
  std::byte* address(std::uint32_t storage, DeviceStream& stream) override {
    return const_cast<std::byte*>(source_->address(storage));  // the planner never writes to constants
  }
  std::byte* checked(std::uint32_t storage, DeviceStream& stream) override {
    return const_cast<std::byte*>(source_->bytes(storage).data());
  }

 private:
  std::shared_ptr<StorageSource> source_;
};

class CpuDevice : public Device {
 public:
  CpuDevice() : Device("cpu", {.host_memory = true, .native_kernels = true}) {}
  std::byte* allocate(std::uint64_t bytes, DeviceStream*) override {
    constexpr std::uint64_t kAlignment = 64;
    const std::uint64_t rounded = std::max((bytes + kAlignment - 1) / kAlignment * kAlignment, kAlignment);
    void* memory = bytes > rounded ? nullptr : platform::allocate_aligned(kAlignment, rounded);
    if (memory == nullptr) fail(ErrorCode::out_of_memory, fmt::format("{} bytes could not be allocated", bytes));
    if (const auto recorder = TraceRecorder::active()) recorder->allocated(*this, memory, rounded);
    return static_cast<std::byte*>(memory);
  }
  void free(std::byte* data) override {
    if (const auto recorder = TraceRecorder::active()) recorder->freed(*this, data);
    platform::free_aligned(data);
  }
  std::shared_ptr<DeviceStream> open_stream(const StreamShare& share) override {
    if (share.units != 0 || share.queues != 0)
      fail(ErrorCode::unsupported, "the device 'cpu' has no parts: PrepareOptions::threads limits a session's threads");
    return std::make_shared<CpuStream>(*this);
  }
  const KernelTable& kernels(bool reproducible) const override {
    return reproducible ? reproducible_cpu_kernels() : cpu_kernels();
  }
  std::shared_ptr<Constants> constants(const Program& program, bool in_place) override {
    return std::make_shared<MappedConstants>(program);
  }
};

}  // namespace

Device& cpu_device() {
  static auto& device = *new CpuDevice;  // buffers may outlive every static object
  return device;
}

}  // namespace tern
