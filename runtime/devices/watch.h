// Observes the host's stream calls while a trace records.
#pragma once

#include <cstdint>

#include "kernels/portable/launcher.h"

namespace tern {

class StreamWatch {
 public:
  enum class Call : std::uint8_t { launch, to_device, to_host, within, wait, graph };
  virtual ~StreamWatch() = default;
  /// Called before each call. `kernel` of a launch, `bytes` of a copy.
  virtual void begin(Call call, portable::KernelHandle kernel, std::uint64_t bytes) = 0;
  /// Called after each call, also after a failed call.
  virtual void end() noexcept = 0;
};

/// Reports a call to the stream's watch, if any, for the lifetime of this object.
class WatchedCall {
 public:
  WatchedCall(StreamWatch* watch, StreamWatch::Call call, std::uint64_t bytes = 0, portable::KernelHandle kernel = {})
      : watch_(watch) {
    if (watch_ != nullptr) watch_->begin(call, kernel, bytes);
  }
  ~WatchedCall() {
    if (watch_ != nullptr) watch_->end();
  }
  WatchedCall(const WatchedCall&) = delete;
  WatchedCall& operator=(const WatchedCall&) = delete;

 private:
  StreamWatch* watch_;
};

}  // namespace tern
