// What a stream puts on the GPU: commands are encoded one after the other, and start together when they are submitted.
#pragma once

#include <tern/device.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "devices/metal/devices.h"
#include "devices/metal/memory.h"
#include "devices/metal/modules.h"

namespace tern::metal {

/// Commands that were submitted together. Threads: all functions may be called by several at once.
class Submission {
 public:
  virtual ~Submission() = default;
  virtual void wait() = 0;
  virtual bool finished() = 0;
  /// Once it is finished. Empty if all went well.
  virtual std::string error() = 0;
  struct Times {
    double begin, end;  ///< seconds on the GPU's clock
  };
  virtual Times times() = 0;
};
using SubmissionPtr = std::shared_ptr<Submission>;

struct Argument {
  Place place;                  ///< of an address
  const void* value = nullptr;  ///< else the bytes
  std::uint32_t size = 0;
};

/// Commands run in order: each sees what those before it wrote. Functions run inside a Pool.
class Commands {
 public:
  virtual ~Commands() = default;
  /// Runs the kernel for `items` items, at most 2^32 - 1, in threadgroups of `group`. It has at most kMostArguments;
  /// values are read before the function returns.
  virtual tern_device_status launch(const Pipeline& pipeline, std::span<const Argument> arguments, std::uint64_t items,
                                    std::uint64_t group) = 0;
  /// All three numbers, in bytes, are multiples of kCopyStep.
  virtual void copy(const Place& to, const Place& from, std::uint64_t bytes) = 0;
  /// The event is signalled also if the GPU fails, so that other streams do not wait for ever.
  virtual void signal(MTL::SharedEvent& event, std::uint64_t value) = 0;
  /// Commands from now on wait. There are none since the last submission.
  virtual void wait(MTL::SharedEvent& event, std::uint64_t value) = 0;
  /// Until the commands so far have run.
  virtual void keep(std::shared_ptr<DeviceBuffer> buffer) = 0;
  /// Of commands since the last submission.
  virtual std::uint64_t count() const = 0;
  virtual SubmissionPtr submit() = 0;

  static constexpr std::size_t kMostArguments = 31;  ///< Metal Feature Set Tables: buffers of a kernel
  /// MTLBlitCommandEncoder's documentation: in macOS, offsets and sizes of copies are multiples of 4.
  static constexpr std::uint64_t kCopyStep = 4;
};

/// Commands of Metal 3, of which a queue is made. Null, after failing, where Metal has no more.
std::unique_ptr<Commands> metal3_commands(const MetalDevice& device);

/// For handlers of what failed: what the GPU has not signalled.
inline void signal_by_host(MTL::SharedEvent& event, std::uint64_t value) {
  if (event.signaledValue() < value) event.setSignaledValue(value);
}

}  // namespace tern::metal
