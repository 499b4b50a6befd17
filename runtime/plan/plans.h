// Plans of a prepared program, shared by its sessions.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/plan/plan.h"

namespace tern {

class Plans {
 public:
  /// Keeps at most `max_plans` plans of each section of a function. Sessions keep their current plans alive in
  /// addition.
  explicit Plans(std::size_t max_plans) : max_plans_(max_plans) {}

  /// Returns the plan for the key, calling `create` if necessary and setting *created; other threads with the same key
  /// wait. An exception of `create` goes to its caller, and the next caller retries. Thread-safe.
  std::shared_ptr<const SectionPlan> find_or_create(const PlanKey& key,
                                                    const std::function<std::shared_ptr<const SectionPlan>()>& create,
                                                    bool* created);
  /// Returns the plans kept now.
  std::vector<std::shared_ptr<const SectionPlan>> cached_plans();

 private:
  struct Entry {
    PlanKey key;
    std::mutex mutex;
    std::shared_ptr<const SectionPlan> plan;
    std::uint64_t used = 0;
  };
  using Entries = std::vector<std::shared_ptr<Entry>>;
  std::shared_ptr<Entry> entry_for(const PlanKey& key);
  static void evict_one(Entries& entries);

  std::size_t max_plans_;
  std::mutex mutex_;
  std::uint64_t clock_ = 0;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Entries> sections_;  ///< keyed by function and section
};

}  // namespace tern
