// A stream of a device, for one session.
#pragma once

#include <memory>

#include "kernels/portable/launcher.h"
#include "runtime/devices/device.h"

namespace tern {

class DeviceStream : public portable::Launcher {
 public:
  explicit DeviceStream(Device& device);
  ~DeviceStream() override;
  DeviceStream(const DeviceStream&) = delete;
  DeviceStream& operator=(const DeviceStream&) = delete;

  Device& device() { return device_; }
  const portable::Target& target() const override { return device_.target(); }
  const portable::CompiledKernel* kernel(const std::string& key, const std::string& name,
                                         const std::function<std::string()>& text) override {
    return device_.kernel(key, name, text);
  }
  void launch(const portable::CompiledKernel* kernel, std::span<const portable::Argument> arguments, std::int64_t items,
              std::uint32_t group) override;
  void copy(std::byte* to, const std::byte* from, std::uint64_t bytes) override;
  void upload(std::byte* to, const void* from, std::uint64_t bytes) override;
  void download(void* to, const std::byte* from, std::uint64_t bytes) override;
  std::unique_ptr<portable::Memory> allocate(std::uint64_t bytes) override;
  std::byte* failure() override;

  void synchronize();
  /// Waits, and fails where a kernel has written a failure.
  void finish();
  std::uint64_t launches() const { return launches_; }

 private:
  Device& device_;
  tern_device_stream stream_ = nullptr;
  std::unique_ptr<portable::Memory> failure_;
  bool may_have_failed_ = false;
  std::uint64_t launches_ = 0;
};

}  // namespace tern
