// What a stream of a device may be able to do: hold graphs, time its work, communicate with other devices.
#pragma once

#include <tern/collective.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace tern {

/// Recorded work that the device holds, and starts on the stream that recorded it.
class DeviceGraph {
 public:
  virtual ~DeviceGraph() = default;
  virtual void launch() = 0;
};

/// Records work on a stream instead of running it.
class GraphRecorder {
 public:
  virtual ~GraphRecorder() = default;
  /// What `put` puts on the stream; null where the device cannot hold it: then nothing has run.
  virtual std::unique_ptr<DeviceGraph> record(const std::function<void()>& put) = 0;
  /// Whether a recording may hold the control flow below.
  virtual bool conditional() const = 0;
  /// The body that follows runs if the byte at `predicate` is not 0 when the stream gets there; else, the other.
  virtual void begin_if(const std::byte* predicate) = 0;
  virtual void begin_else() = 0;
  /// The body that follows repeats while the byte is not 0.
  virtual void begin_while(const std::byte* predicate) = 0;
  virtual void end_body() = 0;
  /// Describes the work that follows, for profilers and dumps; `text` is made if the device takes it.
  virtual void annotate(const std::function<std::string()>& text) = 0;
};

/// Times the work on a stream by the device's own clock.
class StepClock {
 public:
  struct Time {
    std::uint64_t id;          ///< of the last `mark` before it; 0: none
    std::uint64_t begin, end;  ///< nanoseconds on a clock of the device
    double seconds() const { return static_cast<double>(end - begin) * 1e-9; }
  };
  virtual ~StepClock() = default;
  virtual void begin() = 0;
  virtual void mark(std::uint64_t id) = 0;
  /// The times that were not taken yet, some at a time; none: all were taken. The stream has been synchronised.
  virtual std::span<const Time> take() = 0;
  virtual void end() noexcept = 0;
};

/// A place among devices that communicate by themselves. Leaves the group with its end.
class DeviceCommunicator {
 public:
  virtual ~DeviceCommunicator() = default;
  /// Puts the call, with the device's addresses, on the stream; false where the device does not take it. `number`: of
  /// the group's calls, as all ranks count them.
  virtual bool run(const Collective& call, std::uint64_t number) = 0;
  /// The same for messages that are in flight together.
  virtual bool run_batch(std::span<const Collective> calls) = 0;
  /// From any thread: a rank has failed. What waits on the stream ends, and its wait fails.
  virtual void abort(const std::string& why) noexcept = 0;
};

/// What a device needs to communicate with others.
class DeviceRank {
 public:
  /// What ranks tell each other first: who communicates (0: nobody), the process, the device.
  using Offer = std::array<std::int64_t, 3>;
  virtual ~DeviceRank() = default;
  virtual Offer offer() const = 0;
  /// All ranks of the group join, on their devices.
  virtual std::unique_ptr<DeviceCommunicator> join(ProcessGroup& group) = 0;
};

}  // namespace tern
