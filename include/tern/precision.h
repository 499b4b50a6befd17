// In which type a program's products are made.
#pragma once

#include <cstdint>

namespace tern {

/// How products, convolutions and attention on float32 operands may multiply. Sums, softmax and norms are float32 in
/// all cases, and so is every value that anything else reads; each operand is rounded once, to nearest.
enum class Precision : std::uint8_t {
  exported,   ///< as exported: float32 with all of its digits
  bfloat16,   ///< operands are rounded to bfloat16 (8 bits of precision) where that is faster: all of them on matrix
              ///< tiles (AMX), and with AVX512_BF16 where that is measured to be faster; elsewhere the weights of
              ///< products of few rows, as when a language model decodes, which take as long as reading the weight.
              ///< The rest is as exported
  automatic,  ///< what the processor is fastest in, of exported and bfloat16
  float16,    ///< the weights of products of few rows are rounded to float16 (11 bits), those without an element above
              ///< 65504; the rest is as exported
};

}  // namespace tern
