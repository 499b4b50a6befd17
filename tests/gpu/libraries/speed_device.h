// The first CUDA device, for programs that time calls of libraries: memory, a stream, and the device's clock.
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
  /// Makes the device's primary context the thread's. Throws std::runtime_error, with a message, where there is none.
  SpeedDevice();
  ~SpeedDevice();
  SpeedDevice(const SpeedDevice&) = delete;
  SpeedDevice& operator=(const SpeedDevice&) = delete;

  [[nodiscard]] Stream stream() const { return stream_; }
  [[nodiscard]] const std::string& name() const { return name_; }

  /// Memory that free_all() frees, filled with `pattern` again and again if there is one. Throws std::runtime_error.
  Address allocate(std::uint64_t bytes, const std::vector<char>& pattern);
  void free_all();

  /// Microseconds of one call of `work`, which puts launches on the stream and returns whether it could; the least of a
  /// few measurements of calls in a graph, or one after the other where they cannot be captured. Nothing where a call
  /// fails; throws std::runtime_error where the device does.
  std::optional<double> microseconds(const std::function<bool()>& work);

 private:
  void check(Status error, const char* call) const;
  GraphExec capture(const std::function<bool()>& work, int calls);
  double elapsed(const std::function<void()>& work);

  Api api_;
  std::string name_;
  Stream stream_ = nullptr;
  Event from_ = nullptr, to_ = nullptr;
  std::vector<Address> memory_;
};

}  // namespace tern::gpu
