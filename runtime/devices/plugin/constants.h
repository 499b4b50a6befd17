// Constant storages on a plugin's device.
#pragma once

#include <mutex>
#include <vector>

#include "runtime/devices/plugin/device.h"
#include "runtime/memory.h"

namespace tern {

/// Copies on the device, or the program's own bytes if `in_place` and the device reads host memory.
class DeviceConstants : public Constants {
 public:
  DeviceConstants(const Program& program, PluginDevice& device, bool in_place);
  void bring(std::span<const std::uint32_t> storages, DeviceStream& stream) override;
  /// Uploads the storage if necessary.
  std::byte* address(std::uint32_t storage, DeviceStream& stream) override;
  std::byte* checked(std::uint32_t storage, DeviceStream& stream) override { return address(storage, stream); }

 private:
  const Program& program_;
  PluginDevice& device_;
  bool uses_storage_in_place_;
  std::mutex mutex_;
  std::vector<std::byte*> addresses_;  ///< null: not uploaded yet
  std::vector<Buffer> copies_;
};

}  // namespace tern
