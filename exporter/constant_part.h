// Constant part of a function (all values computed from constants alone), and its results.
#pragma once

#include <tern/tensor.h>

#include <functional>
#include <vector>

#include "schema/program.h"

namespace tern {

/// Nodes and states of one value.
struct ConstantSlice {
  std::vector<std::size_t> nodes;     ///< nodes of the function, in order
  std::vector<std::uint32_t> states;  ///< each once
};

/// True for unpacking and scaling ops: pure, with work proportional to their results' sizes.
bool is_plain_op(const Node& n);

class ConstantPart {
 public:
  /// Considers nodes accepted by `takes`; accepted nodes must be pure.
  ConstantPart(const Program& program, const Function& function, bool (*takes)(const Node&) = is_plain_op);

  bool constant(ValueId v) const { return v != kNoValue && constant_[static_cast<std::size_t>(v)]; }
  /// Node computing a value, or -1 for an input.
  std::int64_t producer(ValueId v) const { return producer_[static_cast<std::size_t>(v)]; }
  /// State of a constant input, or -1.
  std::int64_t state(ValueId v) const { return state_[static_cast<std::size_t>(v)]; }
  /// Computed values read outside the part or returned to the caller.
  std::vector<ValueId> results() const;
  /// Empty for more than kMaxNodes nodes.
  ConstantSlice slice(ValueId v) const;
  static constexpr std::size_t kMaxNodes = 256;
  /// Bytes of all values computed by the slice.
  std::uint64_t work(const ConstantSlice& slice) const;
  /// Runs the slice, and passes the value to `use`. Throws the runtime's errors.
  void evaluate(ValueId v, const ConstantSlice& slice, const std::function<void(const Tensor&)>& use) const;

 private:
  const Program& program_;
  const Function& function_;
  std::vector<bool> constant_;
  std::vector<std::int64_t> producer_;
  std::vector<std::int64_t> state_;  ///< state of an input, or -1
};

}  // namespace tern
