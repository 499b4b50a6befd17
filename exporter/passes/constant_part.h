// The part of a function that depends only on constants, and its results.
#pragma once

#include <tern/tensor.h>

#include <functional>
#include <vector>

#include "schema/program.h"

namespace tern {

/// What one value is computed of.
struct ConstantSlice {
  std::vector<std::size_t> nodes;     ///< of the function, in order
  std::vector<std::uint32_t> states;  ///< each once
};

/// What taking numbers apart and scaling them is made of: pure, and no work beyond its results' sizes.
bool is_plain_op(const Node& n);

class ConstantPart {
 public:
  /// Made of the nodes that `takes` accepts; they must be pure.
  ConstantPart(const Program& program, const Function& function, bool (*takes)(const Node&) = is_plain_op);

  bool constant(ValueId v) const { return v != kNoValue && constant_[static_cast<std::size_t>(v)]; }
  /// The node that gives a value, or -1 for an input.
  std::int64_t producer(ValueId v) const { return producer_[static_cast<std::size_t>(v)]; }
  /// The state that a constant input is, or -1.
  std::int64_t state(ValueId v) const { return state_[static_cast<std::size_t>(v)]; }
  /// Computed values that something outside the part, or the caller, reads.
  std::vector<ValueId> results() const;
  /// No states when there are more than kMaxNodes nodes.
  ConstantSlice slice(ValueId v) const;
  static constexpr std::size_t kMaxNodes = 256;
  /// Bytes of all that the slice computes.
  std::uint64_t work(const ConstantSlice& slice) const;
  /// Runs the slice, and gives the value to `use`. Throws what the runtime throws.
  void evaluate(ValueId v, const ConstantSlice& slice, const std::function<void(const Tensor&)>& use) const;

 private:
  const Program& program_;
  const Function& function_;
  std::vector<bool> constant_;
  std::vector<std::int64_t> producer_;
  std::vector<std::int64_t> state_;  ///< of an input, or -1
};

}  // namespace tern
