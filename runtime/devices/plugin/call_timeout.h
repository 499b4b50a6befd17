// Finds calls on a stream that do not end: a thread looks at the oldest one now and then, and when its time is over.
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

/// A collective, or messages of one batch.
struct DeviceCall {
  CallState state;
  std::vector<std::uint64_t> records;  ///< of the flight recorder
};

/// What becomes of calls, in their order. Runs on the thread of CallTimeout, or in its `add`.
class CallListener {
 public:
  virtual ~CallListener() = default;
  virtual void ended(const DeviceCall& call) = 0;
  /// The stream has not come by it for half a second; before it ends or expires.
  virtual void waits(const DeviceCall& call) = 0;
  virtual void expired(const DeviceCall& call) = 0;
};

class CallTimeout {
 public:
  /// If the plugin cannot tell which events have happened, calls end when they are added.
  CallTimeout(PluginStream& stream, std::chrono::milliseconds timeout, CallListener& listener);
  /// Nothing waits on the stream any more.
  ~CallTimeout();
  CallTimeout(const CallTimeout&) = delete;
  CallTimeout& operator=(const CallTimeout&) = delete;
  /// After the call was put on the stream.
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
  std::mutex mutex_;  ///< of what follows
  std::condition_variable_any changed_;
  std::deque<Item> items_;
  std::vector<tern_device_event> free_;
  std::jthread thread_;
};

}  // namespace tern
