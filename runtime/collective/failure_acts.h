// Callbacks for the failure of a group.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace tern {

class FailureActs {
 public:
  using Act = std::function<void(const std::string& why)>;
  /// `act` runs once, on any thread, if the group fails while the result lives.
  [[nodiscard]] std::shared_ptr<void> add(Act act) {
    auto owned = std::make_shared<Act>(std::move(act));
    const std::lock_guard lock(mutex_);
    std::erase_if(acts_, [](const auto& a) { return a.expired(); });
    acts_.push_back(owned);
    return owned;
  }
  void run(const std::string& why) {
    std::vector<std::weak_ptr<Act>> all;
    {
      const std::lock_guard lock(mutex_);
      all.swap(acts_);
    }
    for (const auto& weak : all) {
      if (const auto act = weak.lock()) (*act)(why);
    }
  }

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<Act>> acts_;
};

}  // namespace tern
