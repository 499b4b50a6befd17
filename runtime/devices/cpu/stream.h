// A CPU stream. Calls are synchronous.
#pragma once

#include "kernels/portable/compiled.h"
#include "runtime/devices/device.h"

namespace tern {

class CpuStream : public DeviceStream {
 public:
  explicit CpuStream(Device& device) : device_(device) {}
  Device& device() override { return device_; }
  portable::Launcher& launcher() override { return portable::compiled_launcher(); }
  void copy(const TensorView& from, const TensorView& to) override { copy_strided(from, to); }
  void enqueue_upload(std::byte* to, const void* from, std::uint64_t bytes) override;
  void enqueue_download(void* to, const std::byte* from, std::uint64_t bytes) override;
  void load(StorageSource& source, std::span<const StorageLoad> loads) override;
  void synchronize() override {}
  bool idle() const override { return true; }
  bool has_finished() override { return true; }
  void finish() override {}
  void settle() noexcept override {}
  void recover() noexcept override {}
  std::unique_ptr<DeviceEvent> record() override;
  void wait(const DeviceEvent& event) override {}

 private:
  Device& device_;
};

}  // namespace tern
