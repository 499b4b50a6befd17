// A device's copies of constant storages, shared by the sessions of a prepared program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tern {

class DeviceStream;

class Constants {
 public:
  virtual ~Constants() = default;
  /// Checks these storages and uploads the missing bytes to the device.
  virtual void bring(std::span<const std::uint32_t> storages, DeviceStream& stream) = 0;
  /// Returns the storage's current or future address. The bytes may be missing or unchecked.
  virtual std::byte* address(std::uint32_t storage, DeviceStream& stream) = 0;
  /// Returns the address after upload and check of the bytes.
  virtual std::byte* checked(std::uint32_t storage, DeviceStream& stream) = 0;
};

}  // namespace tern
