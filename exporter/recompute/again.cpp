#include "exporter/recompute/again.h"

#include <algorithm>

namespace tern::recompute {
namespace {

/// Operands smaller than the value by this factor are held, not recomputed.
constexpr std::uint64_t kSmall = 4;
constexpr std::size_t kMostSteps = 1000;

class RecomputePlanner {
 public:
  RecomputePlanner(const Schedule& schedule, ValueId root, Sharing sharing)
      : s_(schedule), root_(root), sharing_(sharing), peak_(static_cast<std::int32_t>(schedule.peak_step())) {}

  std::optional<Recomputation> run() {
    if (s_.is_pinned(root_) || !recipe_of(s_.base(root_)).repeatable) return {};
    const std::vector<std::int32_t>& steps_of_reads = s_.life(root_).read_steps;
    const auto next = std::ranges::upper_bound(steps_of_reads, peak_);
    if (next == steps_of_reads.end()) return {};
    recomputation_.insertion_step = *next;
    recomputation_.saved = static_cast<std::int64_t>(s_.bytes(root_));
    // Later readers may use views; each view is recomputed too.
    for (auto read_step = next; read_step != steps_of_reads.end(); ++read_step) {
      for (ValueId v : s_.steps()[static_cast<std::size_t>(*read_step)].inputs) {
        if (v != kNoValue && s_.root(v) == root_) replaced_[s_.base(v)] = recompute(s_.base(v));
      }
    }
    if (!possible_ || recomputation_.saved <= 0) return {};
    // A value without an earlier reader is delayed, not computed twice.
    if (next == steps_of_reads.begin()) recomputation_.cost -= recipe_of(s_.base(root_)).cost;
    recomputation_.replacements = sharing_ == Sharing::on ? recomputed_ : replaced_;
    return std::move(recomputation_);
  }

 private:
  const NodeRecipe& recipe_of(ValueId base) const {
    return s_.source().recipes[static_cast<std::size_t>(s_.source().def_use.producer(base))];
  }

  /// Newest version produced before; kNoValue if none.
  ValueId newest(ValueId base) const {
    ValueId found = kNoValue;
    for (ValueId v : s_.versions_of(base)) {
      const std::int32_t result = s_.production_step(v);
      if (result >= -1 && result < recomputation_.insertion_step && s_.root(v) != root_ &&
          (found == kNoValue || result > s_.production_step(found)))
        found = v;
    }
    return found;
  }

  bool is_held(ValueId v) const {
    const ValueId root = s_.root(v);
    return s_.is_pinned(root) || s_.life(root).first < 0 || s_.life(root).last >= recomputation_.insertion_step;
  }

  /// A version to read before step `insertion_step`.
  ValueId available_version(ValueId base) {
    const auto cached = recomputed_.find(base);
    if (cached != recomputed_.end()) return cached->second;
    const ValueId v = newest(base);
    if (v != kNoValue && is_held(v)) return v;
    if (s_.source().def_use.producer(base) < 0) return base;  // an input
    const NodeRecipe& r = recipe_of(base);
    if (v != kNoValue && !r.view) {
      const ValueId root = s_.root(v);
      const bool beyond_peak = s_.life(root).last >= peak_;
      if (beyond_peak || !r.repeatable || s_.bytes(root) * kSmall <= s_.bytes(root_)) {
        if (!beyond_peak && extended_.emplace(root, true).second)
          recomputation_.saved -= static_cast<std::int64_t>(s_.bytes(root));
        return v;
      }
    }
    if (!r.repeatable) {
      possible_ = false;
      return base;
    }
    return recompute(base);
  }

  ValueId recompute(ValueId base) {
    const auto cached = recomputed_.find(base);
    if (cached != recomputed_.end()) return cached->second;
    const auto number = static_cast<std::uint32_t>(s_.source().def_use.producer(base));
    const NodeRecipe& r = s_.source().recipes[number];
    if (recomputation_.steps.size() > kMostSteps) possible_ = false;
    if (!possible_) return base;
    ScheduleStep step{number, r.node->inputs, r.node->outputs};
    for (ValueId& v : step.inputs) v = v == kNoValue ? v : available_version(v);
    for (ValueId& v : step.outputs) {
      if (v == kNoValue) continue;
      const ValueId original = v;
      v = static_cast<ValueId>(s_.version_count() + recomputation_.bases.size());
      recomputation_.bases.push_back(original);
      recomputed_[original] = v;
      // Includes the node's other results.
      if (base == s_.base(root_)) replaced_[original] = v;
    }
    recomputation_.cost += r.cost;
    recomputation_.steps.push_back(std::move(step));
    return recomputed_.at(base);
  }

  const Schedule& s_;
  const ValueId root_;
  const Sharing sharing_;
  const std::int32_t peak_;
  bool possible_ = true;
  Recomputation recomputation_;
  std::map<ValueId, ValueId> recomputed_, replaced_;
  std::map<ValueId, bool> extended_;
};

}  // namespace

std::optional<Recomputation> plan_recomputation(const Schedule& schedule, ValueId root, Sharing sharing) {
  return RecomputePlanner(schedule, root, sharing).run();
}

}  // namespace tern::recompute
