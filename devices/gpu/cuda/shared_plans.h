// Plans that nodes of equal sizes on a device share: the library chooses engines, loads kernels and may compile some.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

namespace tern::gpu {

/// `Plan`s, each for one `Key`, as long as a node has them.
template <class Key, class Plan>
class SharedPlans {
 public:
  /// The one that is there, or what `make` returns: a std::unique_ptr<const Plan>, which may be null. The lock of the
  /// device's library is held, as where a node lets its plan go.
  template <class Make>
  std::shared_ptr<const Plan> get(int device, const Key& key, Make make) {
    const std::lock_guard lock(mutex_);
    std::erase_if(all_, [](const Entry& e) { return e.plan.expired(); });
    for (const Entry& e : all_) {
      if (e.device != device) continue;  // a plan of another device must not end here, without its library's lock
      if (std::shared_ptr<const Plan> plan = e.plan.lock(); plan != nullptr && e.key == key) return plan;
    }
    std::shared_ptr<const Plan> made = make();
    if (made != nullptr) all_.push_back({device, key, made});
    return made;
  }

 private:
  struct Entry {
    int device;
    Key key;
    std::weak_ptr<const Plan> plan;
  };
  std::mutex mutex_;
  std::vector<Entry> all_;
};

}  // namespace tern::gpu
