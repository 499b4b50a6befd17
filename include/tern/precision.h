// In which type a program's products are made.
#pragma once

#include <cstdint>

namespace tern {

/// How products, convolutions and attention on float32 operands may multiply. Sums, softmax, norms and every value
/// between nodes are float32 in all cases; each operand is rounded once, to nearest.
enum class Precision : std::uint8_t {
  exported,   ///< as exported: float32 with all of its digits
  bfloat16,   ///< operands are rounded to bfloat16 (8 bits of precision) where that is faster: all of them on matrix
              ///< tiles (AMX); elsewhere the weights of products of few rows, as when a language model decodes, which
              ///< take as long as reading the weight. The rest is as exported
  automatic,  ///< what the processor is fastest in, of these two
};

}  // namespace tern
