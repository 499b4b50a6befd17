#include "runtime/devices/plugin/call_timeout.h"

#include <algorithm>
#include <utility>

#include "runtime/devices/plugin/stream.h"

namespace tern {
namespace {

constexpr std::chrono::milliseconds kCallTimeoutSlow{500};  ///< equal to the threshold for host calls
constexpr std::chrono::milliseconds kLooks{250};            ///< polling interval while calls are pending

}  // namespace

CallTimeout::CallTimeout(PluginStream& stream, std::chrono::milliseconds timeout, CallListener& listener)
    : stream_(stream), timeout_(timeout), listener_(listener) {
  if (stream.device().tables().events != nullptr)
    thread_ = std::jthread([this](const std::stop_token& s) { watch(s); });
}

CallTimeout::~CallTimeout() {
  if (thread_.joinable()) {
    thread_.request_stop();
    changed_.notify_all();
    thread_.join();
  }
  retire();
  const PluginDevice& device = stream_.device();
  for (const Item& i : items_) device.plugin().event_destroy(device.index(), i.event);
  for (const tern_device_event e : free_) device.plugin().event_destroy(device.index(), e);
}

bool CallTimeout::happened(const Item& item) const {
  const PluginDevice& device = stream_.device();
  std::int32_t yes = 0;
  return device.tables().events->query(device.index(), item.event, &yes) == TERN_DEVICE_OK && yes != 0;
}

void CallTimeout::retire() {
  while (!items_.empty() && happened(items_.front())) {
    listener_.ended(items_.front().call);
    free_.push_back(items_.front().event);
    items_.pop_front();
  }
}

void CallTimeout::add(DeviceCall call) {
  if (!thread_.joinable()) return listener_.ended(call);
  const PluginDevice& device = stream_.device();
  const std::lock_guard lock(mutex_);
  retire();
  tern_device_event event = nullptr;
  if (!free_.empty()) {
    event = free_.back();
    free_.pop_back();
  } else {
    device.check(device.plugin().event_create(device.index(), &event), "making an event");
  }
  items_.push_back({event, Clock::now(), std::move(call)});
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
    const Item& oldest = items_.front();
    const Clock::time_point next = oldest.begin + (oldest.waits ? timeout_ : std::min(timeout_, kCallTimeoutSlow));
    changed_.wait_until(lock, stop, std::min(next, Clock::now() + kLooks), [] { return false; });
    if (stop.stop_requested()) return;
    retire();
    if (items_.empty()) continue;
    Item& item = items_.front();
    const auto waited = Clock::now() - item.begin;
    if (waited >= timeout_) {
      const DeviceCall call = item.call;
      lock.unlock();
      return listener_.expired(call);
    }
    if (!item.waits && waited >= kCallTimeoutSlow) {
      item.waits = true;
      listener_.waits(item.call);
    }
  }
}

}  // namespace tern
