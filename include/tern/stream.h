// Streams and events, the same on every device, as torch.accelerator has them. What is put on a stream runs in order;
// streams are independent of each other. On the CPU everything has ended when the call that asks for it returns.
#pragma once

#include <tern/api.h>

#include <memory>
#include <string>

namespace tern {

class Event;
struct StreamImpl;
struct EventImpl;

/// A handle: copies name the same stream. Belongs to one thread at a time, with the sessions that run on it.
class TERN_API Stream {
 public:
  /// A new one of this device.
  explicit Stream(const std::string& device = "cpu");
  /// That of this thread's innermost StreamScope for the device; outside of any, one that the thread keeps for itself.
  static Stream current(const std::string& device = "cpu");

  /// "cpu", "xpu:0".
  const std::string& device() const;
  /// Whether a Graph records what is put on it.
  bool is_capturing() const;
  /// Whether everything put on it has ended. Waits for that where the device cannot tell (tern/device.h, "events").
  bool query() const;
  /// Waits for everything put on it. Fails with what failed there, once.
  void synchronize() const;
  /// What is put on it from now on waits for the event; at once where that was never recorded.
  void wait(const Event& event) const;

  friend bool operator==(const Stream& a, const Stream& b) { return a.impl_ == b.impl_; }
  explicit Stream(std::shared_ptr<StreamImpl> impl) : impl_(std::move(impl)) {}
  const std::shared_ptr<StreamImpl>& impl() const { return impl_; }

 private:
  std::shared_ptr<StreamImpl> impl_;
};

/// Makes a stream this thread's current one of its device, until the scope ends. Scopes nest, with the same stream too.
class TERN_API StreamScope {
 public:
  explicit StreamScope(const Stream& stream);
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;
};

/// Happens when what was on the stream at `record` has ended; anew after each record.
class TERN_API Event {
 public:
  Event();
  void record(const Stream& stream);
  /// Whether it has happened; true before the first record. Waits where the device cannot tell.
  bool query() const;
  /// Waits for it. Fails with what had failed on the stream before; the stream's synchronize will say it again.
  void synchronize() const;
  /// From this event to `end`; both have happened, on one device. Fails where the device has no clock for events.
  double seconds_until(const Event& end) const;

  const std::shared_ptr<EventImpl>& impl() const { return impl_; }

 private:
  std::shared_ptr<EventImpl> impl_;
};

}  // namespace tern
