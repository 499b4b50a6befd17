// What passes that recognise a few nodes as one ask about a function.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "schema/program.h"

namespace tern {

/// An operand of an operation: a value, or a number that the expression has itself.
struct ScalarOperand {
  ValueId value = kNoValue;
  double number = 0;  ///< where there is no value
};

/// A pointwise node that does one operation in `compute`, of operands that it may widen to that type, and may round the
/// result to its own. A node that only converts is an `op` of Scalar::load.
struct OneOperation {
  Scalar op = Scalar::invalid;
  DType compute = DType::invalid;
  std::array<ScalarOperand, 2> operands;
  int count = 0;  ///< operands
};

class Dataflow {
 public:
  explicit Dataflow(const Function& f);

  /// -1 for inputs.
  std::int64_t producer(ValueId v) const { return producers_[static_cast<std::size_t>(v)]; }
  /// Whether exactly so many nodes read the value, and nothing outside of the function.
  bool is_read_by(ValueId v, int nodes) const { return readers_[static_cast<std::size_t>(v)] == nodes; }
  const TensorType& type(ValueId v) const { return f_.values[static_cast<std::size_t>(v)].type; }
  /// The node that makes `v`, if it is of this kind and `v` its first result; else null.
  const Node* made_by(ValueId v, Op op) const;

  std::optional<OneOperation> operation(const Node& n) const;
  std::optional<OneOperation> operation(ValueId v) const;
  /// What `v` is a widened copy of, else `v`.
  ValueId narrow(ValueId v) const;

 private:
  const Function& f_;
  std::vector<std::int64_t> producers_;
  std::vector<int> readers_;
};

}  // namespace tern
