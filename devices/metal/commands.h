// Commands of a stream: encoded one after another, and started together when submitted.
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

/// Commands submitted together. Thread-safe.
class Submission {
 public:
  virtual ~Submission() = default;
  virtual void wait() = 0;
  virtual bool finished() = 0;
  /// Returns the error of a finished submission; empty on success.
  virtual std::string error() = 0;
  struct Times {
    double begin, end;  ///< seconds on the GPU's clock
  };
  virtual Times times() = 0;
};
using SubmissionPtr = std::shared_ptr<Submission>;

struct MetalArgument {
  BufferRange range;            ///< argument by address
  const void* value = nullptr;  ///< else the bytes
  std::uint32_t size = 0;
};

/// Commands run in order: each sees the writes of earlier commands. Functions run inside a Pool.
class Commands {
 public:
  virtual ~Commands() = default;
  /// Runs the kernel for `items` items, at most 2^32 - 1, in threadgroups of `group`. Allows at most kMaxArguments
  /// arguments; values are read before the function returns.
  virtual tern_device_status launch(const Pipeline& pipeline, std::span<const MetalArgument> arguments,
                                    std::uint64_t items, std::uint64_t group) = 0;
  /// All three arguments, in bytes, are multiples of kCopyStep.
  virtual void copy(const BufferRange& to, const BufferRange& from, std::uint64_t bytes) = 0;
  /// The event is signalled even if the GPU fails, so that other streams do not wait forever.
  virtual void signal(MTL::SharedEvent& event, std::uint64_t value) = 0;
  /// Later commands wait. Requires no commands since the last submission.
  virtual void wait(MTL::SharedEvent& event, std::uint64_t value) = 0;
  /// Keeps the buffer until the commands so far have run.
  virtual void retain_buffer(std::shared_ptr<DeviceBuffer> buffer) = 0;
  /// Number of commands since the last submission.
  virtual std::uint64_t count() const = 0;
  virtual SubmissionPtr submit() = 0;

  static constexpr std::size_t kMaxArguments = 31;  ///< Metal Feature Set Tables: buffers of a kernel
  /// MTLBlitCommandEncoder's documentation: in macOS, offsets and sizes of copies are multiples of 4.
  static constexpr std::uint64_t kCopyStep = 4;
};

/// Returns Metal 3 commands on a new queue. Null (with a failure message) if Metal has no more queues.
std::unique_ptr<Commands> metal3_commands(const MetalDevice& device);

/// Signals in place of a failed GPU.
inline void signal_by_host(MTL::SharedEvent& event, std::uint64_t value) {
  if (event.signaledValue() < value) event.setSignaledValue(value);
}

}  // namespace tern::metal
