// The part of a function that depends only on constants, and its results.
#pragma once

#include <tern/tensor.h>

#include <functional>
#include <vector>

#include "schema/def_use.h"

namespace tern {

/// The nodes and states from which a value is computed.
struct ConstantSlice {
  std::vector<std::size_t> nodes;     ///< numbers in the function, ascending
  std::vector<std::uint32_t> states;  ///< each once
};

/// True for pure nodes whose work grows with the sizes of their results: programs unpack and scale weights by them.
bool is_plain_op(const Node& n);

class ConstantPart {
 public:
  /// The part consists of nodes that `accepts` accepts, all of them pure.
  ConstantPart(const Program& program, const Function& function, bool (*accepts)(const Node&) = is_plain_op);

  bool constant(ValueId v) const { return v != kNoValue && constant_[static_cast<std::size_t>(v)]; }
  const DefUse& def_use() const { return def_use_; }
  /// Number of the node that computes `v`; -1 for an input.
  std::int64_t producer(ValueId v) const { return def_use_.producer(v); }
  /// State of a constant input, or -1.
  std::int64_t state(ValueId v) const { return state_[static_cast<std::size_t>(v)]; }
  /// Computed values that nodes outside the part, or the caller, read.
  std::vector<ValueId> results() const;
  /// Collects the nodes and states that compute `v`. Empty if there are more than kMaxNodes nodes.
  ConstantSlice slice(ValueId v) const;
  static constexpr std::size_t kMaxNodes = 256;
  /// Cost of evaluate(): bytes that the slice reads and computes, plus a fixed cost.
  std::uint64_t cost(const ConstantSlice& slice) const;
  /// Runs the slice, and passes the value to `receive`. False if the run fails: a run of the program reports the error.
  [[nodiscard]] bool evaluate(ValueId v, const ConstantSlice& slice,
                              const std::function<void(const Tensor&)>& receive) const;

 private:
  const Program& program_;
  const Function& function_;
  DefUse def_use_;
  std::vector<bool> constant_;
  std::vector<std::int64_t> state_;  ///< the state of an input, or -1
};

}  // namespace tern
