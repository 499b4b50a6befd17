// A stream: commands being encoded, and running submissions.
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

/// Wait functions are thread-safe, also concurrently with other functions; all other functions need external
/// synchronisation.
class MetalStream {
 public:
  MetalStream(const MetalDevice& device, std::unique_ptr<Commands> commands)
      : device_(device), commands_(std::move(commands)) {}

  tern_device_status launch(const Pipeline& pipeline, std::span<const MetalArgument> arguments, std::uint64_t items,
                            std::uint64_t group);
  /// Reads the host's memory before returning.
  tern_device_status upload(const BufferRange& to, const void* from, std::uint64_t bytes);
  /// Waits for the stream before returning, so a later upload on any stream may overwrite the host's memory.
  tern_device_status download(void* to, const BufferRange& from, std::uint64_t bytes);
  tern_device_status copy(const BufferRange& to, const BufferRange& from, std::uint64_t bytes);

  /// Submits all commands so far; the last command signals the event.
  SubmissionPtr record(MTL::SharedEvent& event, std::uint64_t value);
  /// Later commands wait for the event.
  void wait_for(MTL::SharedEvent& event, std::uint64_t value);

  /// Submits all commands and waits. Reports the first error of the stream, also in later calls.
  tern_device_status synchronize();
  /// Waits for a submission and all earlier submissions.
  tern_device_status finish(const SubmissionPtr& submission);

  struct Span {
    std::uint64_t id;
    SubmissionPtr submission;
  };
  struct Profile {
    std::uint64_t id = 0;
    std::vector<Span> spans;  ///< not yet taken
  };
  /// If set, each launch and copy is a separately timed submission.
  std::unique_ptr<Profile> profile;

 private:
  tern_device_status copy_bytes(const BufferRange& to, const BufferRange& from, std::uint64_t bytes);
  std::shared_ptr<DeviceBuffer> staging(const void* from, std::uint64_t bytes);
  void encoded();
  SubmissionPtr submit();
  bool idle();
  void complete();
  tern_device_status status() const;

  const MetalDevice& device_;
  std::mutex mutex_;  ///< guards the members below
  std::unique_ptr<Commands> commands_;
  std::deque<SubmissionPtr> pending_;  ///< ordered by submission
  std::string error_;                  ///< the first
};

}  // namespace tern::metal
