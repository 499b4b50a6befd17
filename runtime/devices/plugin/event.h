// An event of a plugin's device.
#pragma once

#include "runtime/devices/plugin/stream.h"

namespace tern {

class PluginEvent : public DeviceEvent {
 public:
  explicit PluginEvent(PluginStream& stream);
  ~PluginEvent() override;
  PluginEvent(const PluginEvent&) = delete;
  PluginEvent& operator=(const PluginEvent&) = delete;

  Handle handle() const override { return std::bit_cast<Handle>(event_); }
  bool happened() override;
  void synchronize() override;
  double seconds_until(const DeviceEvent& end) const override;

 private:
  PluginDevice& device_;
  tern_device_event event_ = nullptr;
  std::int32_t failure_ = 0;  ///< failure written by earlier kernels, valid after the event has happened
};

}  // namespace tern
