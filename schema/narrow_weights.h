// Weights of small elements, from the view of a function's nodes.
#pragma once

#include <cstdint>
#include <vector>

#include "schema/program.h"

namespace tern {

/// Values of a function that are (views of) states with small elements: quantized values, or plain matrices of numbers
/// of at most 8 bits.
class NarrowWeights {
 public:
  NarrowWeights(const Program& program, const Function& function);

  /// Number of the state, or -1.
  std::int64_t state(ValueId v) const {
    return v < 0 || static_cast<std::size_t>(v) >= states_.size() ? -1 : states_[static_cast<std::size_t>(v)];
  }
  /// Position of the node's first operand with such a weight, or -1.
  int operand(const Node& n) const;
  /// Position of the operand the node converts to floats as a whole on every device (a weight or quantized value), or
  /// -1.
  int widened(const Function& f, const Node& n) const;

 private:
  std::vector<std::int64_t> states_;
};

}  // namespace tern
