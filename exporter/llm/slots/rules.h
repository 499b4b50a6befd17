// How a node of one text becomes one node of several.
#pragma once

#include "exporter/builder.h"

namespace tern {

/// A node's operands, as rules take them. A value of several texts has the type of one text's with the number of texts
/// in front.
class Operands {
 public:
  virtual ~Operands() = default;
  virtual const TensorType& type(ValueId v) const = 0;  ///< of one text
  virtual bool is_shared(ValueId v) const = 0;          ///< alike for all texts
  virtual ValueId shared(ValueId v) = 0;                ///< of one that is
  virtual ValueId each(ValueId v) = 0;                  ///< of all texts; repeated where it is shared
  virtual Builder& builder() = 0;
  virtual Dim texts() const = 0;

  int rank(ValueId v) const { return type(v).rank(); }
  /// To be broadcast with values of that rank of one text: axes of 1 stand between the texts and its own.
  ValueId aligned(ValueId v, int rank);
};

/// Gives `made`, a copy of `source` without inputs, the inputs and attributes with which its results are those of all
/// texts. False where there is no such node: the node then runs once for each text.
using Rule = bool (*)(Operands& operands, const Node& source, Node& made);

/// Null where the op has none.
Rule rule_of(Op op);

}  // namespace tern
