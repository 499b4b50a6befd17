// The first CUDA device, for programs that time library calls: memory, a stream, and the device's clock.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "devices/gpu/api.h"

namespace tern::gpu {

class SpeedDevice {
 public:
  /// Makes the device's primary context current. Throws std::runtime_error with a message without a device.
  SpeedDevice();
  ~SpeedDevice();
  SpeedDevice(const SpeedDevice&) = delete;
  SpeedDevice& operator=(const SpeedDevice&) = delete;

  [[nodiscard]] Stream stream() const { return stream_; }
  [[nodiscard]] const std::string& name() const { return name_; }

  /// Memory owned until free_all(), filled with repetitions of `pattern` unless empty. Throws std::runtime_error.
  Address allocate(std::uint64_t bytes, const std::vector<char>& pattern);
  void free_all();

  /// Microseconds of a call of `work`, which adds launches to the stream and returns true on success: the minimum of a
  /// few measurements of calls in a graph, or of successive calls if capture fails. nullopt if a call fails; throws
  /// std::runtime_error if the device fails.
  std::optional<double> microseconds(const std::function<bool()>& work);

 private:
  void check(Status error, const char* call) const;
  GraphExec capture(const std::function<bool()>& work, int calls);
  double elapsed(const std::function<void()>& work);

  Api api_;
  std::string name_;
  Stream stream_ = nullptr;
  Event start_event_ = nullptr, end_event_ = nullptr;
  std::vector<Address> memory_;
};

}  // namespace tern::gpu
