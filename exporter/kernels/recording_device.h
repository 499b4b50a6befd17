// Rehearsal device: records the source of every requested kernel, and runs none.
#pragma once

#include <tern/device.h>

#include <map>
#include <string>

#include "runtime/devices/plugin/device.h"

namespace tern {

/// Device properties affecting kernel sources.
struct DeviceKind {
  const char* name;  ///< name for messages: "GPU without float64"
  std::int32_t dialect;
  std::uint64_t features;
  std::uint32_t vector_floats;
};

/// Belongs to its creating thread; one at a time.
class RecordingDevice {
 public:
  explicit RecordingDevice(const DeviceKind& kind);
  ~RecordingDevice();
  RecordingDevice(const RecordingDevice&) = delete;
  RecordingDevice& operator=(const RecordingDevice&) = delete;

  Device& device() { return *device_; }
  /// Sets the value of every read from the device, such as a result's element count.
  void answer(std::uint64_t number) { answer_ = number; }
  /// Maps the source of each kernel to its name.
  const std::map<std::string, std::string>& texts() const { return texts_; }

 private:
  friend struct RecordingFunctions;
  const DeviceKind kind_;
  Plugin plugin_;
  std::uint64_t next_address_, answer_ = 0;
  std::map<std::string, std::string> texts_;
  std::unique_ptr<PluginDevice> device_;
};

}  // namespace tern
