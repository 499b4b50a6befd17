// What is behind Stream and Event.
#pragma once

#include <tern/stream.h>

#include <memory>
#include <string>

#include "runtime/devices/device.h"

namespace tern {

class GraphImpl;

struct StreamImpl {
  explicit StreamImpl(Device& device, const StreamShare& share = {}) : work(device.open_stream(share)) {}
  const std::string& device() const { return work->device().name(); }

  const std::shared_ptr<DeviceStream> work;
  GraphImpl* capture = nullptr;  ///< what records it
};

struct EventImpl {
  std::shared_ptr<StreamImpl> stream;  ///< where it was recorded last; null before that
  std::unique_ptr<DeviceEvent> event;
};

/// The stream of this thread's innermost scope for the device; null outside of any.
std::shared_ptr<StreamImpl> scoped_stream(const Device& device);

}  // namespace tern
