// Implementation of Stream and Event.
#pragma once

#include <tern/stream.h>

#include <memory>
#include <string>

#include "runtime/devices/device.h"

namespace tern {

class GraphImpl;

struct StreamImpl {
  explicit StreamImpl(Device& device, const StreamShare& share = {}) : device_stream(device.open_stream(share)) {}
  const std::string& device() const { return device_stream->device().name(); }

  const std::shared_ptr<DeviceStream> device_stream;
  GraphImpl* capture = nullptr;  ///< the recording graph
};

struct EventImpl {
  std::shared_ptr<StreamImpl> stream;  ///< stream of the last recording; null before the first
  std::unique_ptr<DeviceEvent> event;
};

/// Returns the stream of this thread's innermost scope for the device; null outside any scope.
std::shared_ptr<StreamImpl> scoped_stream(const Device& device);

}  // namespace tern
