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
  /// Keeps at most `most` plans of each section of a function. Sessions keep their current plans alive in addition.
  explicit Plans(std::size_t most) : most_(most) {}

  /// Returns the plan for the key, calling `make` if necessary and setting *made; other threads with the same key wait.
  /// An exception of `make` goes to its caller, and the next caller retries. Thread-safe.
  std::shared_ptr<const SectionPlan> get(const PlanKey& key,
                                         const std::function<std::shared_ptr<const SectionPlan>()>& make, bool* made);
  /// Returns the plans kept now.
  std::vector<std::shared_ptr<const SectionPlan>> all();

 private:
  struct Entry {
    PlanKey key;
    std::mutex making;
    std::shared_ptr<const SectionPlan> plan;
    std::uint64_t used = 0;
  };
  using Entries = std::vector<std::shared_ptr<Entry>>;
  std::shared_ptr<Entry> entry_for(const PlanKey& key);
  static void drop_one(Entries& entries);

  std::size_t most_;
  std::mutex mutex_;
  std::uint64_t clock_ = 0;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Entries> sections_;  ///< keyed by function and section
};

}  // namespace tern
