// Turns mutation into values: tensors of the traced program with shared memory, and their current values.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "exporter/builder.h"

namespace tern::importing {

/// Computes a view from its base, and writes a new value of the view back.
struct ViewStep {
  std::string op;  ///< for messages
  std::function<ValueId(ValueId operand)> forward;
  std::function<ValueId(ValueId operand, ValueId view)> inverse;  ///< empty: cannot be written through
};

/// Tensor of the traced program, in Python's sense: an object possibly sharing memory with others.
using RefId = std::int32_t;

/// A Ref is a base with memory of its own, or a view of another Ref. A base has a current value and a version count; a
/// read recomputes a view after its base has changed. Without mutation, nothing is computed twice.
class Aliases {
 public:
  RefId add_base(ValueId value);
  RefId add_view(RefId parent, ValueId value, ViewStep step);

  /// Number of Refs; later Refs get numbers from here on.
  std::size_t count() const { return refs_.size(); }
  /// The current content.
  ValueId current_value(RefId ref);
  /// Makes `value`, of the same type, the content of `ref` and of all Refs with the same memory.
  void write(RefId ref, ValueId value);
  /// True after a write to this Ref's memory.
  bool is_written(RefId ref) const { return bases_[entry(ref).base].version != 0; }
  RefId base(RefId ref) const { return bases_[entry(ref).base].ref; }
  bool is_view(RefId ref) const { return entry(ref).parent >= 0; }
  /// Operators from the base to a view, in order.
  std::vector<std::string> view_operators(RefId ref) const;
  /// Value of `ref` for a base with value `base`.
  ValueId replay(RefId ref, ValueId base);

 private:
  struct Base {
    RefId ref = -1;
    std::uint32_t version = 0;
  };
  struct Ref {
    std::size_t base = 0;
    RefId parent = -1;
    ViewStep step;
    ValueId value = kNoValue;
    std::uint32_t version = 0;  ///< version of the base when `value` was computed
  };
  const Ref& entry(RefId ref) const { return refs_[static_cast<std::size_t>(ref)]; }
  Ref& entry(RefId ref) { return refs_[static_cast<std::size_t>(ref)]; }

  /// Limits replay steps: nested views and writes of a file could make replaying quadratic in its size.
  static constexpr std::size_t kMaxReplays = 2'000'000;
  void count_replay();

  std::size_t replays_ = 0;
  std::vector<Base> bases_;
  std::vector<Ref> refs_;
};

}  // namespace tern::importing
