// Finds calls on a stream that do not end: a thread looks at the oldest one when its time is over.
#pragma once

#include <tern/device.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace tern {

class PluginStream;

class CallTimeout {
 public:
  /// `expired` gets the description of the call, on the thread of this object. Does nothing if the plugin cannot tell
  /// which events have happened.
  CallTimeout(PluginStream& stream, std::chrono::milliseconds timeout,
              std::function<void(const std::string& what)> expired);
  /// Nothing waits on the stream any more.
  ~CallTimeout();
  CallTimeout(const CallTimeout&) = delete;
  CallTimeout& operator=(const CallTimeout&) = delete;
  /// After the call was put on the stream.
  void add(std::string what);

 private:
  using Clock = std::chrono::steady_clock;
  struct Item {
    tern_device_event event;
    Clock::time_point end;
    std::string what;
  };
  bool happened(const Item& item) const;
  void watch(const std::stop_token& stop);

  PluginStream& stream_;
  std::chrono::milliseconds timeout_;
  std::function<void(const std::string&)> expired_;
  std::mutex mutex_;  ///< of what follows
  std::condition_variable_any changed_;
  std::deque<Item> items_;
  std::vector<tern_device_event> free_;
  std::jthread thread_;
};

}  // namespace tern
