// Streams and events, as in torch.accelerator: the same on every device. Work on one stream runs in order; streams are
// independent of each other. On the CPU each call returns after its work has finished.
#pragma once

#include <tern/api.h>

#include <memory>
#include <string>

namespace tern {

class Event;
struct StreamImpl;
struct EventImpl;

/// A part of a device: its streams leave the other parts free.
struct StreamShare {
  int units = 0;   ///< smallest number of multiprocessors; 0: the whole device
  int queues = 0;  ///< number of streams served by the part at once, apart from streams of other parts; 0: no limit
};

/// A handle: copies name the same stream. A stream and its sessions belong to one thread at a time.
class TERN_API Stream {
 public:
  /// Creates a stream on this device. Throws invalid_argument, and lists the devices, for an unknown device.
  explicit Stream(const std::string& device = "cpu");
  /// Creates a stream for a part of the device (CUDA's green contexts, CU masks of ROCm). Parts are disjoint while
  /// enough multiprocessors remain; a stream's part ends with the stream. Throws invalid_argument if the device has
  /// fewer multiprocessors, and unsupported if the device has no parts.
  Stream(const std::string& device, const StreamShare& share);
  /// The stream of this thread's innermost StreamScope for the device; outside any scope, the thread's default stream.
  static Stream current(const std::string& device = "cpu");

  /// "cpu", "xpu:0".
  const std::string& device() const;
  /// The stream's actual share: may exceed the requested units if the device rounds up to multiples of eight; `queues`
  /// is 0 if the device cannot limit queues. All 0: the stream has the whole device.
  StreamShare share() const;
  /// True while a Graph records the work on this stream, or the application captures native() by the vendor's
  /// functions.
  bool is_capturing() const;
  /// True if all work on this stream has finished. Waits for the work if the device has no "events" (tern/device.h).
  bool query() const;
  /// Waits for all work on this stream. Throws the first error of the work, once.
  void synchronize() const;
  /// Later work on this stream waits for the event. Events without a record cause no wait.
  void wait(const Event& event) const;
  /// The vendor's handle of the stream, valid as long as the stream: a CUstream (cudaStream_t) or hipStream_t. Throws
  /// unsupported on other devices.
  void* native() const;
  /// Later work on this stream waits for all work put so far on a vendor's stream by the application; null is the
  /// vendor's default stream. A run can thus read the output of an application's kernel. Throws unsupported like
  /// native(), and invalid_argument while a Graph records this stream.
  void wait_native(void* stream) const;

  friend bool operator==(const Stream& a, const Stream& b) { return a.impl_ == b.impl_; }
  explicit Stream(std::shared_ptr<StreamImpl> impl) : impl_(std::move(impl)) {}
  const std::shared_ptr<StreamImpl>& impl() const { return impl_; }

 private:
  std::shared_ptr<StreamImpl> impl_;
};

/// Sets this thread's current stream of a device until the scope ends. Scopes nest.
class TERN_API StreamScope {
 public:
  explicit StreamScope(const Stream& stream);
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;
};

/// Happens when all work put on the stream before `record` has finished. Each record restarts the event.
class TERN_API Event {
 public:
  Event();
  void record(const Stream& stream);
  /// True if the event has happened, or was never recorded. Waits for the event if the device has no "events".
  bool query() const;
  /// Waits for the event. Throws the error of earlier work on the stream; Stream::synchronize throws the error again.
  void synchronize() const;
  /// Seconds from this event to `end`. Both must have happened, on the same device. Throws unsupported if the device
  /// has no clock for events.
  double seconds_until(const Event& end) const;

  const std::shared_ptr<EventImpl>& impl() const { return impl_; }

 private:
  std::shared_ptr<EventImpl> impl_;
};

}  // namespace tern
