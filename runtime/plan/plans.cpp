#include "runtime/plan/plans.h"

#include <algorithm>

namespace tern {

std::shared_ptr<const SectionPlan> Plans::find_or_create(
    const PlanKey& key, const std::function<std::shared_ptr<const SectionPlan>()>& create, bool* created) {
  const std::shared_ptr<Entry> entry = entry_for(key);
  const std::lock_guard lock(entry->mutex);
  *created = entry->plan == nullptr;
  if (*created) entry->plan = create();
  return entry->plan;
}

std::shared_ptr<Plans::Entry> Plans::entry_for(const PlanKey& key) {
  const std::lock_guard lock(mutex_);
  Entries& entries = sections_[{key.function, key.section}];
  auto found = std::ranges::find_if(entries, [&](const auto& e) { return e->key == key; });
  if (found == entries.end()) {
    if (entries.size() >= max_plans_) evict_one(entries);
    entries.push_back(std::make_shared<Entry>());
    entries.back()->key = key;
    found = entries.end() - 1;
  }
  (*found)->used = ++clock_;
  return *found;
}

/// Drops an entry held by no session, else the least recently used entry.
void Plans::evict_one(Entries& entries) {
  const auto order = [](const std::shared_ptr<Entry>& e) {
    const std::unique_lock lock(e->mutex, std::try_to_lock);
    return std::pair{!lock || e->plan.use_count() > 1, e->used};
  };
  entries.erase(std::ranges::min_element(entries, std::less<>(), order));
}

std::vector<std::shared_ptr<const SectionPlan>> Plans::cached_plans() {
  std::vector<std::shared_ptr<Entry>> entries;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [section, section_entries] : sections_)
      entries.insert(entries.end(), section_entries.begin(), section_entries.end());
  }
  std::vector<std::shared_ptr<const SectionPlan>> plans;
  for (const std::shared_ptr<Entry>& e : entries) {
    const std::lock_guard lock(e->mutex);
    if (e->plan != nullptr) plans.push_back(e->plan);
  }
  return plans;
}

}  // namespace tern
