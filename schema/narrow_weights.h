// Weights of small elements, as the nodes of a function see them.
#pragma once

#include <cstdint>
#include <vector>

#include "schema/program.h"

namespace tern {

/// Values of a function that are a state of small elements, or a view of one: a quantized value, or a plain matrix of
/// numbers of 8 bits or fewer.
class NarrowWeights {
 public:
  NarrowWeights(const Program& program, const Function& function);

  /// The number of the state, or -1.
  std::int64_t state(ValueId v) const {
    return v < 0 || static_cast<std::size_t>(v) >= states_.size() ? -1 : states_[static_cast<std::size_t>(v)];
  }
  /// The first of the node's operands that is one: its position, or -1.
  int operand(const Node& n) const;
  /// Whether the node makes floats of a whole weight or quantized value, whatever the device: the operand's position,
  /// or -1.
  int widened(const Function& f, const Node& n) const;

 private:
  std::vector<std::int64_t> states_;
};

}  // namespace tern
