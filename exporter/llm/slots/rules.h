// Turns a node of one text into a node of several.
#pragma once

#include "exporter/builder.h"

namespace tern {

/// Operands of a node for the rules. A value of several texts has one text's type with the number of texts in front.
class Operands {
 public:
  virtual ~Operands() = default;
  virtual const TensorType& type(ValueId v) const = 0;  ///< type for a single text
  virtual bool is_shared(ValueId v) const = 0;          ///< alike for all texts
  virtual ValueId shared(ValueId v) = 0;                ///< the common value
  virtual ValueId values_of(ValueId v) = 0;             ///< value for all texts; repeats a common value
  virtual Builder& builder() = 0;
  virtual Dim texts() const = 0;

  int rank(ValueId v) const { return type(v).rank(); }
  /// Inserts axes of 1 behind the texts' axis, to broadcast with one-text values of rank `rank`.
  ValueId aligned(ValueId v, int rank);
};

/// Gives `result`, a copy of `source` without inputs, the inputs and attributes to compute all texts' results. False if
/// no such node exists: the node then runs once per text.
using Rule = bool (*)(Operands& operands, const Node& source, Node& result);

/// Null if the op has no rule.
Rule rule_of(Op op);

}  // namespace tern
