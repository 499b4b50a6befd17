// Nodes of a function in execution order, and the memory of their results over time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "exporter/recompute/recipe.h"
#include "schema/def_use.h"

namespace tern::recompute {

/// Execution of a node, possibly repeated.
struct ScheduleStep {
  std::uint32_t recipe = 0;
  std::vector<ValueId> inputs, outputs;
};

/// Value of the function (`base` is its own number), or a recomputed value.
struct Version {
  ValueId base = kNoValue;
  ValueId root = kNoValue;  ///< version owning the memory
};

/// When a root's memory is held, in numbers of steps.
struct Life {
  std::int32_t first = -1, last = -1;    ///< steps of production and of the last read; -1: before all steps, never
  std::vector<std::int32_t> read_steps;  ///< ascending
};

/// The function before any change of the order. Recipes are numbered like nodes.
struct Source {
  const Program* program = nullptr;
  const Function* function = nullptr;
  DefUse def_use;
  std::vector<NodeRecipe> recipes;
  std::vector<std::uint64_t> bytes;  ///< memory of each value's own in a run

  /// True for results of the function, and values that it writes back.
  bool is_pinned(std::size_t v) const { return def_use.result_count(static_cast<ValueId>(v)) > 0; }
};

/// Modifiable function. Copies are independent; they share the original.
class Schedule {
 public:
  /// The program must outlive the schedule, unchanged.
  Schedule(const Program& program, std::uint32_t function, std::span<const std::int64_t> expressions);

  const Source& source() const { return *source_; }
  const NodeRecipe& recipe(const ScheduleStep& s) const { return source_->recipes[s.recipe]; }
  const std::vector<ScheduleStep>& steps() const { return steps_; }
  ValueId base(ValueId v) const { return versions_[index_of(v)].base; }
  ValueId root(ValueId v) const { return versions_[index_of(v)].root; }
  std::uint64_t bytes(ValueId v) const { return source_->bytes[index_of(base(v))]; }
  std::size_t version_count() const { return versions_.size(); }
  /// Lifetime of a root.
  const Life& life(ValueId root) const { return lives_[index_of(root)]; }
  bool is_pinned(ValueId root) const { return pinned_[index_of(root)]; }
  std::int32_t production_step(ValueId v) const {
    return production_steps_[index_of(v)];
  }  ///< step of the value; -1: an input; -2: removed
  /// All versions of a value, in order of addition.
  const std::vector<ValueId>& versions_of(ValueId base) const { return versions_by_base_[index_of(base)]; }

  std::uint64_t held_bytes(std::size_t step) const { return held_bytes_[step]; }
  std::uint64_t peak() const { return peak_; }            ///< largest memory held at once
  std::size_t peak_step() const { return peak_step_; }    ///< first step at the peak
  std::size_t peak_steps() const { return peak_steps_; }  ///< number of steps at the peak
  double cost() const { return cost_; }
  /// Steps beyond the first of each node.
  std::size_t repeated_steps() const;

  /// Inserts `steps` before step `insertion_step`. Their results are new versions, numbered from version_count() on in
  /// the order of `bases`. Later nodes read `replacements[base]` in place of each version of the base.
  void insert(std::int32_t insertion_step, std::vector<ScheduleStep> steps, const std::vector<ValueId>& bases,
              const std::map<ValueId, ValueId>& replacements);

  /// The function with its nodes in this order, extended by the recomputed values.
  Function function() const;

 private:
  static std::size_t index_of(ValueId v) { return static_cast<std::size_t>(v); }
  void remove_unread();
  void find_lives();
  void find_peak();
  /// Bytes of a pointwise result placed in the memory of an operand without later readers.
  std::uint64_t reused_bytes(std::int32_t step) const;

  std::shared_ptr<const Source> source_;
  std::vector<ScheduleStep> steps_;
  std::vector<Version> versions_;
  // Recomputed after each change.
  std::vector<std::vector<ValueId>> versions_by_base_;
  std::vector<Life> lives_;
  std::vector<bool> pinned_;
  std::vector<std::int32_t> production_steps_;
  std::vector<std::uint64_t> held_bytes_;
  std::uint64_t peak_ = 0;
  std::size_t peak_step_ = 0, peak_steps_ = 0;
  double cost_ = 0;
};

}  // namespace tern::recompute
