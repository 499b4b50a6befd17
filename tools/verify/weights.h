// Values computed only from states, through views and conversions: part of the reading node, because kernels fold these
// operations into weights.
#pragma once

#include <map>
#include <vector>

#include "schema/def_use.h"

namespace tern {

class WeightValues {
 public:
  explicit WeightValues(const Function& f);
  bool contains(ValueId v) const { return v != kNoValue && is_weight_[static_cast<std::size_t>(v)]; }
  /// The node that computes the value; null for a state.
  const Node* producer(ValueId v) const { return def_use_.producing_node(function_, v); }

 private:
  std::vector<bool> is_weight_;
  DefUse def_use_;
  const Function& function_;
};

}  // namespace tern
