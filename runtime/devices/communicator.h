// A rank's place among devices that communicate by themselves ("collective" of tern/device.h).
#pragma once

#include <tern/collective.h>

#include <array>
#include <cstdint>
#include <span>

#include "runtime/devices/stream.h"

namespace tern {

class DeviceCommunicator {
 public:
  /// What ranks tell each other first: the plugin (0: it has no such table), the process, the device.
  using Offer = std::array<std::int64_t, 3>;
  static Offer offer(const Device& device);
  /// All have one plugin's table, and no two one device.
  static bool all_can(std::span<const Offer> offers);

  /// All ranks of the group join, on their devices.
  DeviceCommunicator(DeviceStream& stream, ProcessGroup& group);
  ~DeviceCommunicator();
  DeviceCommunicator(const DeviceCommunicator&) = delete;
  DeviceCommunicator& operator=(const DeviceCommunicator&) = delete;

  /// Puts the call, with the device's addresses, on the stream; false where the device does not take it.
  bool run(const Collective& call);

 private:
  void leave() noexcept;
  DeviceStream& stream_;
  const tern_device_collective_functions& functions_;
  tern_device_communicator handle_ = nullptr;
};

}  // namespace tern
