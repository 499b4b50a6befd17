// The storages that no function writes as a device sees them, shared by the sessions of a prepared program.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "runtime/memory.h"
#include "schema/program.h"

namespace tern {

class DeviceStream;

/// Copies on the device; or the program's own bytes, where `in_place` and the device reads the host's memory.
class DeviceConstants {
 public:
  DeviceConstants(const Program& program, Device& device, bool in_place);
  /// Checks and copies the bytes of these storages, as far as they are not there yet, through `stream`.
  void bring(std::span<const std::uint32_t> storages, DeviceStream& stream);
  /// Where the storage lies; it is brought there.
  std::byte* address(std::uint32_t storage, DeviceStream& stream);

 private:
  const Program& program_;
  Device& device_;
  bool in_place_;
  std::mutex mutex_;
  std::vector<std::byte*> addresses_;  ///< null: not brought yet
  std::vector<Buffer> copies_;
};

}  // namespace tern
