// The data that all frames of a session share: its state, its random numbers, and its device.
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

/// The state of a session as frames see it, in the memory of its device.
class StateMemory {
 public:
  StateMemory(const PreparedProgram& prepared, DeviceStream& stream);
  /// The first element of a state. Bytes of immutable ones come from the program's source, at first use.
  std::byte* data(std::uint32_t state);
  /// The same for an immutable state, whose bytes need not have been checked yet.
  std::byte* address(std::uint32_t state) const;
  /// Brings the bytes of all immutable states that a function reads to the device, together.
  void bring(const Function& f) const;
  /// Copies of the mutable states as the archive has them.
  void reset();
  std::uint64_t bytes() const;

 private:
  const PreparedProgram& prepared_;
  DeviceStream& stream_;
  std::vector<std::byte*> pointers_;              ///< for each state; null before its first use
  std::vector<std::unique_ptr<Buffer>> mutable_;  ///< for each storage that some mutable state views
  void load(std::uint32_t storage);
};

struct SessionContext {
  const PreparedProgram* prepared = nullptr;
  StateMemory* state = nullptr;
  DeviceStream* stream = nullptr;  ///< of the program's device
  GroupAccess* groups = nullptr;
  Threads threads = Threads::current();  ///< of the run
  RandomState random;
  Buffer scratch;
  HostBuffer answers;  ///< of PendingChecks
  RunLimits limits;
  std::uint64_t clock = 0;
  std::uint64_t plans_made = 0;
  std::uint64_t bytes_copied = 0;
  int depth = 0;                    ///< of nested calls
  Profile* profile = nullptr;       ///< where steps are measured, if they are
  DeviceTimes* times = nullptr;     ///< of a run that the device measures itself
  SessionTrace* trace = nullptr;    ///< of a run that is traced
  std::uint64_t plans_dropped = 0;  ///< so often steps have gone that a trace may know
  Recording* recording = nullptr;   ///< where steps go instead of being run, while a graph is captured

  /// Whether steps are measured.
  bool is_watched() const { return profile != nullptr || trace != nullptr; }
  Device& device() const { return *prepared->device; }
  /// Grows a buffer of a frame or the scratch memory. Fails beyond PrepareOptions::max_memory before it allocates.
  void reserve(Buffer& buffer, std::uint64_t bytes) { limits.reserve(buffer, bytes, prepared->options, device()); }
  /// Copies between views of one shape and dtype, where the session runs; recorded during a capture.
  void copy(const TensorView& from, const TensorView& to) const;
  /// Between the host and the device, done when the stream has been synchronised; recorded during a capture.
  void upload(std::byte* to, const void* from, std::uint64_t bytes) const;
  void download(void* to, const std::byte* from, std::uint64_t bytes) const;
  /// Brings bytes to the host, where they are not there already. Fails where the device's work before has failed.
  void read(void* to, const std::byte* from, std::size_t bytes) const;
};

}  // namespace tern
