// What is behind Stream and Event.
#pragma once

#include <tern/stream.h>

#include <chrono>
#include <memory>
#include <string>

#include "runtime/devices/stream.h"

namespace tern {

class GraphImpl;

struct StreamImpl {
  std::string device = "cpu";
  std::shared_ptr<DeviceStream> work;  ///< null on the CPU
  GraphImpl* capture = nullptr;        ///< what records it
};

struct EventImpl {
  ~EventImpl();
  /// Ends the device's event, after waiting for it.
  void clear() noexcept;

  std::shared_ptr<StreamImpl> stream;  ///< where it was recorded last; null before that
  tern_device_event event = nullptr;
  std::int32_t failure = 0;                    ///< what kernels before it wrote, once it has happened
  std::chrono::steady_clock::time_point time;  ///< on the CPU
};

/// The stream of this thread's innermost scope for the device; null outside of any.
std::shared_ptr<StreamImpl> scoped_stream(const std::string& device);

}  // namespace tern
