// A stream: commands that are encoded, and submissions that run.
#pragma once

#include <tern/device.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "devices/metal/commands.h"

namespace tern::metal {

/// Threads: wait functions may be called by several threads and beside the others; the others by one at a time.
class Stream {
 public:
  Stream(const MetalDevice& device, std::unique_ptr<Commands> commands)
      : device_(device), commands_(std::move(commands)) {}

  tern_device_status launch(const Pipeline& pipeline, std::span<const Argument> arguments, std::uint64_t items,
                            std::uint64_t group);
  /// Reads the host's memory before it returns.
  tern_device_status upload(const Place& to, const void* from, std::uint64_t bytes);
  /// Has waited for the stream when it returns. So the host's memory is ready for an upload that follows on any stream.
  tern_device_status download(void* to, const Place& from, std::uint64_t bytes);
  tern_device_status copy(const Place& to, const Place& from, std::uint64_t bytes);

  /// Submits all commands so far; the last of them signals the event.
  SubmissionPtr record(MTL::SharedEvent& event, std::uint64_t value);
  /// Commands from now on wait for the event.
  void wait_for(MTL::SharedEvent& event, std::uint64_t value);

  /// Submits all commands and waits for them. Reports the first error of the stream, also later.
  tern_device_status synchronize();
  /// Waits for a submission and those before it.
  tern_device_status finish(const SubmissionPtr& submission);

  struct Span {
    std::uint64_t id;
    SubmissionPtr submission;
  };
  struct Profile {
    std::uint64_t id = 0;
    std::vector<Span> spans;  ///< that were not taken yet
  };
  /// Set: each launch and copy is a submission of its own, which has times.
  std::unique_ptr<Profile> profile;

 private:
  tern_device_status copy_bytes(const Place& to, const Place& from, std::uint64_t bytes);
  std::shared_ptr<DeviceBuffer> staging(const void* from, std::uint64_t bytes);
  void encoded();
  SubmissionPtr submit();
  bool idle();
  void complete();
  tern_device_status status() const;

  const MetalDevice& device_;
  std::mutex mutex_;  ///< of all that follows
  std::unique_ptr<Commands> commands_;
  std::deque<SubmissionPtr> pending_;  ///< in order
  std::string error_;                  ///< the first
};

}  // namespace tern::metal
