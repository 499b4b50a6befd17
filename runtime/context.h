// Data shared by all frames of a session: state, random numbers and device.
#pragma once

#include <memory>
#include <vector>

#include "runtime/limits.h"
#include "runtime/memory.h"
#include "runtime/prepared.h"
#include "runtime/profile.h"
#include "threads/threads.h"

namespace tern {

class DeviceStream;
class DeviceTimes;
class SessionTrace;
struct Recording;

/// State of a session in device memory, as seen by frames.
class StateMemory {
 public:
  StateMemory(const PreparedProgram& prepared, DeviceStream& stream);
  /// Returns a state's first element. Bytes of immutable states come from the program's source on first use.
  std::byte* data(std::uint32_t state);
  /// Returns an immutable state's address; its bytes may be unchecked.
  std::byte* address(std::uint32_t state) const;
  /// Uploads all immutable states read by a function to the device together.
  void bring(const Function& f) const;
  /// Resets the mutable states to the archive's values.
  void reset();
  std::uint64_t bytes() const;

 private:
  const PreparedProgram& prepared_;
  DeviceStream& stream_;
  std::vector<std::byte*> pointers_;              ///< indexed by state; null before first use
  std::vector<std::unique_ptr<Buffer>> mutable_;  ///< indexed by storage; set for storages viewed by a mutable state
  void load(std::uint32_t storage);
};

struct SessionContext {
  const PreparedProgram* prepared = nullptr;
  StateMemory* state = nullptr;
  DeviceStream* stream = nullptr;  ///< stream of the program's device
  GroupAccess* groups = nullptr;
  Threads threads = Threads::current();  ///< thread count of the run
  RandomState random;
  Buffer scratch;
  HostBuffer answers;  ///< buffer of PendingChecks
  RunLimits limits;
  std::uint64_t clock = 0;
  std::uint64_t plans_made = 0;
  std::uint64_t bytes_copied = 0;
  int depth = 0;                    ///< depth of nested calls
  Profile* profile = nullptr;       ///< destination of step times; null if not measured
  DeviceTimes* times = nullptr;     ///< set during runs timed by the device
  SessionTrace* trace = nullptr;    ///< set during traced runs
  std::uint64_t plans_dropped = 0;  ///< number of plan drops so far, for invalidating trace labels
  Recording* recording = nullptr;   ///< destination of steps while a graph is captured

  /// True if steps are measured or traced.
  bool is_watched() const { return profile != nullptr || trace != nullptr; }
  Device& device() const { return *prepared->device; }
  /// Grows a buffer of a frame or the scratch memory. Fails before allocating beyond PrepareOptions::max_memory.
  void reserve(Buffer& buffer, std::uint64_t bytes) {
    limits.reserve(buffer, bytes, prepared->options, device(), user());
  }
  /// The stream that uses the session's memory; null during a capture, because replays may use other streams.
  DeviceStream* user() const { return recording == nullptr ? stream : nullptr; }
  /// Copies between views of one shape and dtype on the session's device; recorded during a capture.
  void copy(const TensorView& from, const TensorView& to) const;
  /// Copies between the host and the device, done after the stream's synchronisation; recorded during a capture.
  void upload(std::byte* to, const void* from, std::uint64_t bytes) const;
  void download(void* to, const std::byte* from, std::uint64_t bytes) const;
  /// Copies bytes to the host unless already there. Fails if earlier device work has failed.
  void read(void* to, const std::byte* from, std::size_t bytes) const;
};

}  // namespace tern
