// Detects stream calls that never end: a thread checks the oldest call regularly and at its deadline.
#pragma once

#include <tern/device.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/collective/watch.h"

namespace tern {

class PluginStream;

/// A collective or a batch of messages.
struct DeviceCall {
  CallState state;
  std::vector<std::uint64_t> records;  ///< numbers in the flight recorder
};

/// Observer of calls, notified in call order. Runs on the thread of CallTimeout or inside `add`.
class CallListener {
 public:
  virtual ~CallListener() = default;
  virtual void ended(const DeviceCall& call) = 0;
  /// Reports a call pending for half a second, before its end or expiry.
  virtual void waits(const DeviceCall& call) = 0;
  virtual void expired(const DeviceCall& call) = 0;
};

class CallTimeout {
 public:
  /// If the plugin cannot query events, calls count as finished when added.
  CallTimeout(PluginStream& stream, std::chrono::milliseconds timeout, CallListener& listener);
  /// The stream must have no pending calls.
  ~CallTimeout();
  CallTimeout(const CallTimeout&) = delete;
  CallTimeout& operator=(const CallTimeout&) = delete;
  /// Adds a call already enqueued on the stream.
  void add(DeviceCall call);

 private:
  using Clock = std::chrono::steady_clock;
  struct Item {
    tern_device_event event;
    Clock::time_point begin;
    DeviceCall call;
    bool waits = false;
  };
  bool happened(const Item& item) const;
  void retire();
  void watch(const std::stop_token& stop);

  PluginStream& stream_;
  std::chrono::milliseconds timeout_;
  CallListener& listener_;
  std::mutex mutex_;  ///< guards the members below
  std::condition_variable_any changed_;
  std::deque<Item> items_;
  std::vector<tern_device_event> free_;
  std::jthread thread_;
};

}  // namespace tern
