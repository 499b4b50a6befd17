// Plans shared by nodes of equal sizes on a device: choosing engines, and loading or compiling kernels, is slow.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

namespace tern::gpu {

/// A `Plan` for each `Key`, alive as long as a node uses it.
template <class Key, class Plan>
class SharedPlans {
 public:
  /// Returns the existing plan or the result of `make`: a std::unique_ptr<const Plan>, possibly null. The caller holds
  /// the lock of the device's library, both here and when a node releases its plan.
  template <class Make>
  std::shared_ptr<const Plan> find_or_create(int device, const Key& key, Make make) {
    const std::lock_guard lock(mutex_);
    std::erase_if(entries_, [](const Entry& e) { return e.plan.expired(); });
    for (const Entry& e : entries_) {
      if (e.device != device) continue;  // skips plans of other devices: their destruction needs their library's lock
      if (std::shared_ptr<const Plan> plan = e.plan.lock(); plan != nullptr && e.key == key) return plan;
    }
    std::shared_ptr<const Plan> made = make();
    if (made != nullptr) entries_.push_back({device, key, made});
    return made;
  }

 private:
  struct Entry {
    int device;
    Key key;
    std::weak_ptr<const Plan> plan;
  };
  std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace tern::gpu
