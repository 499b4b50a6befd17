// Streams and events, as in torch.accelerator: the same on every device. Work on one stream runs in order; streams are
// independent of each other. On the CPU all work has finished when the call that starts it returns.
#pragma once

#include <tern/api.h>

#include <memory>
#include <string>

namespace tern {

class Event;
struct StreamImpl;
struct EventImpl;

/// A part of a device: its streams leave the rest to others.
struct StreamShare {
  int units = 0;   ///< multiprocessors, at least so many; 0: the whole device
  int queues = 0;  ///< how many streams the part is to serve at once, apart from those of other parts; 0: no limit
};

/// A handle: copies name the same stream. A stream and the sessions on it belong to one thread at a time.
class TERN_API Stream {
 public:
  /// Creates a stream on this device. Throws invalid_argument, and lists the devices, if there is no such device.
  explicit Stream(const std::string& device = "cpu");
  /// Creates a stream whose kernels run on a part of the device (CUDA's green contexts, CU masks of ROCm). Parts are
  /// disjoint while there are enough multiprocessors; a stream's part ends with the stream. Throws invalid_argument if
  /// the device has fewer, and unsupported if it has no parts.
  Stream(const std::string& device, const StreamShare& share);
  /// The stream of this thread's innermost StreamScope for the device; outside any scope, the thread's default stream.
  static Stream current(const std::string& device = "cpu");

  /// "cpu", "xpu:0".
  const std::string& device() const;
  /// What the device gave: more units than were asked for, where it divides them by eights; no queues, where it cannot
  /// limit them. All 0: the stream has the whole device.
  StreamShare share() const;
  /// True while a Graph records the work on this stream.
  bool is_capturing() const;
  /// True if all work on this stream has finished. Waits for it if the device has no "events" (tern/device.h).
  bool query() const;
  /// Waits for all work on this stream. Throws the first error of that work, once.
  void synchronize() const;
  /// Later work on this stream waits for the event. An event that was never recorded does not delay it.
  void wait(const Event& event) const;
  /// The vendor's handle of the stream, valid as long as the stream: a CUstream (cudaStream_t) or hipStream_t. Throws
  /// unsupported on other devices.
  void* native() const;
  /// Later work on this stream waits for what the application has put on a stream of the vendor's so far; null is its
  /// default stream. So a run reads what a kernel of the application's writes. Throws unsupported as native() does, and
  /// invalid_argument while a Graph records this stream.
  void wait_native(void* stream) const;

  friend bool operator==(const Stream& a, const Stream& b) { return a.impl_ == b.impl_; }
  explicit Stream(std::shared_ptr<StreamImpl> impl) : impl_(std::move(impl)) {}
  const std::shared_ptr<StreamImpl>& impl() const { return impl_; }

 private:
  std::shared_ptr<StreamImpl> impl_;
};

/// Makes a stream this thread's current stream of its device until the scope ends. Scopes nest.
class TERN_API StreamScope {
 public:
  explicit StreamScope(const Stream& stream);
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;
};

/// Happens when all work that was on the stream at `record` has finished. Each record starts it anew.
class TERN_API Event {
 public:
  Event();
  void record(const Stream& stream);
  /// True if the event has happened, or was never recorded. Waits for it if the device has no "events".
  bool query() const;
  /// Waits for the event. Throws the error of earlier work on the stream; Stream::synchronize throws it again.
  void synchronize() const;
  /// Seconds from this event to `end`. Both must have happened, on one device. Throws unsupported if the device has no
  /// clock for events.
  double seconds_until(const Event& end) const;

  const std::shared_ptr<EventImpl>& impl() const { return impl_; }

 private:
  std::shared_ptr<EventImpl> impl_;
};

}  // namespace tern
