#include "exporter/recompute/reduce.h"

#include <algorithm>

#include "exporter/recompute/again.h"

namespace tern::recompute {
namespace {

/// Limit on attempts at one peak: each costs a new layout of the schedule.
constexpr std::size_t kMostTries = 48;

/// Values held over the peak, with readers only after it.
std::vector<ValueId> idle_at_peak(const Schedule& s) {
  std::vector<ValueId> found;
  const auto peak = static_cast<std::int32_t>(s.peak_step());
  for (std::size_t v = 0; v < s.versions(); ++v) {
    const auto id = static_cast<ValueId>(v);
    if (s.root(id) != id || s.bytes(id) == 0) continue;
    const Life& l = s.life(id);
    if (l.first >= 0 && l.first < peak && l.last > peak && !std::ranges::binary_search(l.reads, peak))
      found.push_back(id);
  }
  return found;
}

bool is_lower(const Schedule& a, const Schedule& b) {
  return a.peak() < b.peak() || (a.peak() == b.peak() && a.peak_steps() < b.peak_steps());
}

}  // namespace

bool reduce_peak(Schedule& schedule) {
  struct Try {
    Again again;
    double worth = 0;
  };
  std::vector<Try> tries;
  for (ValueId root : idle_at_peak(schedule)) {
    for (const Sharing sharing : {Sharing::on, Sharing::off}) {
      std::optional<Again> again = make_again(schedule, root, sharing);
      if (!again) continue;
      const double worth = static_cast<double>(again->saved) / std::max(again->cost, 1.0);
      // The cost without sharing is equal except for later readers.
      tries.push_back({std::move(*again), sharing == Sharing::on ? worth : worth * 0.5});
    }
  }
  std::ranges::stable_sort(tries, std::greater<>(), &Try::worth);
  if (tries.size() > kMostTries) tries.resize(kMostTries);
  for (Try& t : tries) {
    Schedule changed = schedule;
    changed.insert(t.again.before, std::move(t.again.steps), t.again.bases, t.again.instead);
    if (!is_lower(changed, schedule)) continue;
    schedule = std::move(changed);
    return true;
  }
  return false;
}

}  // namespace tern::recompute
