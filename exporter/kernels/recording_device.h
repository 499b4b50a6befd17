// A device for rehearsals: it keeps the text of every kernel that the runtime requests, and runs none.
#pragma once

#include <tern/device.h>

#include <map>
#include <string>

#include "runtime/devices/plugin/device.h"

namespace tern {

/// The properties that texts depend on.
struct DeviceKind {
  const char* name;  ///< for people: "GPU without float64"
  std::int32_t dialect;
  std::uint64_t features;
  std::uint32_t vector_floats;
};

/// Belongs to the thread that makes it; one at a time.
class RecordingDevice {
 public:
  explicit RecordingDevice(const DeviceKind& kind);
  ~RecordingDevice();
  RecordingDevice(const RecordingDevice&) = delete;
  RecordingDevice& operator=(const RecordingDevice&) = delete;

  Device& device() { return *device_; }
  /// The value of every read from the device, such as the number of elements of a result.
  void answer(std::uint64_t number) { answer_ = number; }
  /// The name of each kernel, by its text.
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
