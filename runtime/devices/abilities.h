// Optional abilities of a device's stream: graphs, timing, communication with other devices.
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

/// Recorded work held by the device. Starts on the recording stream.
class DeviceGraph {
 public:
  virtual ~DeviceGraph() = default;
  virtual void launch() = 0;
};

/// Records work on a stream instead of running it.
class GraphRecorder {
 public:
  virtual ~GraphRecorder() = default;
  /// Records the work enqueued by `enqueue`. Returns null if the device cannot hold the work; then nothing has run.
  virtual std::unique_ptr<DeviceGraph> record(const std::function<void()>& enqueue) = 0;
  /// True if `update` may succeed.
  virtual bool updates() const = 0;
  /// Records the work enqueued by `enqueue`, and gives it to a graph of this stream in place of the graph's own, which
  /// differs in addresses. False if the device cannot; then the graph is unchanged, and nothing has run.
  virtual bool update(DeviceGraph& graph, const std::function<void()>& enqueue) = 0;
  /// True if a recording may hold the control flow below.
  virtual bool conditional() const = 0;
  /// Begins a body run if the byte at `predicate` is not 0 when the stream reaches the branch. `begin_else` begins the
  /// other branch.
  virtual void begin_if(const std::byte* predicate) = 0;
  virtual void begin_else() = 0;
  /// Begins a body repeated while the byte is not 0.
  virtual void begin_while(const std::byte* predicate) = 0;
  virtual void end_body() = 0;
  /// Describes the following work for profilers and dumps. Calls `text` only if the device accepts descriptions. Calls
  /// count from 1 in each recording.
  virtual void annotate(const std::function<std::string()>& text) = 0;
};

/// Times a stream's work by the device's clock.
class StepClock {
 public:
  struct Time {
    std::uint64_t id;          ///< id of the last earlier `mark`; 0: none
    std::uint64_t number;      ///< number of GraphRecorder::annotate for work of a graph; 0: none
    std::uint64_t begin, end;  ///< nanoseconds on the device's clock
    double seconds() const { return static_cast<double>(end - begin) * 1e-9; }
  };
  virtual ~StepClock() = default;
  virtual void begin() = 0;
  virtual void mark(std::uint64_t id) = 0;
  /// True if graphs recorded during a measurement may have times of their work.
  virtual bool times_graphs() const = 0;
  /// Returns the next times not taken yet; empty once all were taken. Requires a synchronised stream.
  virtual std::span<const Time> consume_times() = 0;
  virtual void end() noexcept = 0;
};

/// A rank in a group of devices with their own communication. The destructor leaves the group.
class DeviceCommunicator {
 public:
  virtual ~DeviceCommunicator() = default;
  /// Enqueues the call (device addresses) on the stream; false if the device does not support the call. `number`: the
  /// call's sequence number, equal on all ranks.
  virtual bool run(const Collective& call, std::uint64_t number) = 0;
  /// Enqueues messages in flight together.
  virtual bool run_batch(std::span<const Collective> calls) = 0;
  /// Reports a failed rank. Waits on the stream end with an error. Thread-safe.
  virtual void abort(const std::string& why) noexcept = 0;
};

/// Joins a device to a group of devices.
class DeviceRank {
 public:
  /// Data exchanged by ranks first: communication library (0: none), process, device.
  using Offer = std::array<std::int64_t, 3>;
  virtual ~DeviceRank() = default;
  virtual Offer offer() const = 0;
  /// Joins the group; called on all ranks with their devices.
  virtual std::unique_ptr<DeviceCommunicator> join(ProcessGroup& group) = 0;
};

}  // namespace tern
