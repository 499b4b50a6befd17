// A device's copies of the storages that no function writes, shared by the sessions of a prepared program.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "runtime/memory.h"
#include "schema/program.h"

namespace tern {

class DeviceStream;

class DeviceConstants {
 public:
  DeviceConstants(const Program& program, Device& device)
      : program_(program), device_(device), copies_(program.storages.size()) {}
  /// Where the storage lies on the device. Its bytes are checked and copied at first use, through `stream`.
  std::byte* address(std::uint32_t storage, DeviceStream& stream);

 private:
  const Program& program_;
  Device& device_;
  std::mutex mutex_;
  std::vector<Buffer> copies_;
};

}  // namespace tern
