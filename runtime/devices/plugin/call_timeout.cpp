#include "runtime/devices/plugin/call_timeout.h"

#include <utility>

#include "runtime/devices/plugin/stream.h"

namespace tern {

CallTimeout::CallTimeout(PluginStream& stream, std::chrono::milliseconds timeout,
                         std::function<void(const std::string&)> expired)
    : stream_(stream), timeout_(timeout), expired_(std::move(expired)) {
  if (stream.device().tables().events != nullptr)
    thread_ = std::jthread([this](const std::stop_token& s) { watch(s); });
}

CallTimeout::~CallTimeout() {
  if (thread_.joinable()) {
    thread_.request_stop();
    changed_.notify_all();
    thread_.join();
  }
  const PluginDevice& device = stream_.device();
  for (const Item& i : items_) device.plugin().event_destroy(device.index(), i.event);
  for (const tern_device_event e : free_) device.plugin().event_destroy(device.index(), e);
}

bool CallTimeout::happened(const Item& item) const {
  const PluginDevice& device = stream_.device();
  std::int32_t yes = 0;
  return device.tables().events->query(device.index(), item.event, &yes) == TERN_DEVICE_OK && yes != 0;
}

void CallTimeout::add(std::string what) {
  if (!thread_.joinable()) return;
  const PluginDevice& device = stream_.device();
  const std::lock_guard lock(mutex_);
  while (!items_.empty() && happened(items_.front())) {
    free_.push_back(items_.front().event);
    items_.pop_front();
  }
  tern_device_event event = nullptr;
  if (!free_.empty()) {
    event = free_.back();
    free_.pop_back();
  } else {
    device.check(device.plugin().event_create(device.index(), &event), "making an event");
  }
  items_.push_back({event, Clock::now() + timeout_, std::move(what)});
  device.check(device.plugin().event_record(device.index(), event, stream_.used()), "recording an event");
  changed_.notify_all();
}

void CallTimeout::watch(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (items_.empty()) {
      changed_.wait(lock, stop, [&] { return !items_.empty(); });
      continue;
    }
    const Clock::time_point end = items_.front().end;
    changed_.wait_until(lock, stop, end, [&] { return items_.empty() || items_.front().end != end; });
    if (stop.stop_requested() || items_.empty() || Clock::now() < items_.front().end) continue;
    if (!happened(items_.front())) {
      const std::string what = items_.front().what;
      lock.unlock();
      return expired_(what);
    }
    free_.push_back(items_.front().event);
    items_.pop_front();
  }
}

}  // namespace tern
