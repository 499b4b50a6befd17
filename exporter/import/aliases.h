// Turns mutation into values: which tensors of the traced program share memory, and what each holds now.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "exporter/builder.h"

namespace tern::importing {

/// How to compute a view from its base, and how to write a new value of the view back.
struct ViewStep {
  std::string op;  ///< for messages
  std::function<ValueId(ValueId of)> forward;
  std::function<ValueId(ValueId of, ValueId view)> inverse;  ///< empty: cannot be written through
};

/// A tensor of the traced program, in the sense of Python: an object that others may share memory with.
using RefId = std::int32_t;

/// Each Ref is a base, which has memory of its own, or a view of another Ref. A base has a current value and counts its
/// versions; a view whose base has moved on is computed anew when it is read. Nothing is computed twice where nothing
/// is mutated.
class Aliases {
 public:
  RefId own(ValueId value);
  RefId view(RefId of, ValueId value, ViewStep step);

  /// How many were made: those from this number on are made later.
  std::size_t count() const { return refs_.size(); }
  /// The current content.
  ValueId read(RefId ref);
  /// Makes `value`, of the same type, the content of `ref` and of all that share its memory.
  void write(RefId ref, ValueId value);
  /// Something was written to the memory of this Ref since it was made.
  bool changed(RefId ref) const { return bases_[at(ref).base].version != 0; }
  RefId base(RefId ref) const { return bases_[at(ref).base].ref; }
  bool is_view(RefId ref) const { return at(ref).of >= 0; }
  /// The operators that lead from the base to a view, in order.
  std::vector<std::string> path(RefId ref) const;
  /// What `ref` would hold if its base held `base`.
  ValueId replay(RefId ref, ValueId base);

 private:
  struct Base {
    RefId ref = -1;
    std::uint32_t version = 0;
  };
  struct Ref {
    std::size_t base = 0;
    RefId of = -1;
    ViewStep step;
    ValueId value = kNoValue;
    std::uint32_t version = 0;  ///< of the base, when `value` was computed
  };
  const Ref& at(RefId ref) const { return refs_[static_cast<std::size_t>(ref)]; }
  Ref& at(RefId ref) { return refs_[static_cast<std::size_t>(ref)]; }

  /// A file may nest views and writes so that replaying takes the square of its size: refused beyond this many steps.
  static constexpr std::size_t kMaxReplays = 2'000'000;
  void count_replay();

  std::size_t replays_ = 0;
  std::vector<Base> bases_;
  std::vector<Ref> refs_;
};

}  // namespace tern::importing
