// The storages that no function writes as a device sees them, shared by the sessions of a prepared program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tern {

class DeviceStream;

class Constants {
 public:
  virtual ~Constants() = default;
  /// Checks the bytes of these storages and brings them to the device, as far as they are not there yet.
  virtual void bring(std::span<const std::uint32_t> storages, DeviceStream& stream) = 0;
  /// Where the storage lies or will lie. Its bytes need not be there, and need not have been checked.
  virtual std::byte* address(std::uint32_t storage, DeviceStream& stream) = 0;
  /// The same, once the bytes are there and have been checked.
  virtual std::byte* checked(std::uint32_t storage, DeviceStream& stream) = 0;
};

}  // namespace tern
