// Communication between a plugin's devices ("collective" of tern/device.h).
#pragma once

#include "runtime/devices/abilities.h"

namespace tern {

class PluginStream;

class PluginRank : public DeviceRank {
 public:
  explicit PluginRank(PluginStream& stream) : stream_(stream) {}
  Offer offer() const override;
  std::unique_ptr<DeviceCommunicator> join(ProcessGroup& group) override;

 private:
  PluginStream& stream_;
};

}  // namespace tern
