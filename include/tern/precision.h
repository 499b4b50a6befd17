// Precision of a program's float32 products.
#pragma once

#include <cstdint>

namespace tern {

/// Permitted multiplication types of products, convolutions and attention on float32 operands. Sums, softmax, norms and
/// all other values stay float32; each operand is rounded once, to nearest.
enum class Precision : std::uint8_t {
  exported,   ///< float32 without rounding, as exported
  bfloat16,   ///< rounds operands to bfloat16 (8 bits of precision) if faster: all operands on matrix tiles (AMX), with
              ///< bf16 on aarch64, or with AVX512_BF16 if measured as faster; elsewhere only the weights of products
              ///< with few rows (decoding of language models), bound by reading the weight. All other operands stay as
              ///< exported
  automatic,  ///< the faster of exported and bfloat16 on this processor
  float16,    ///< rounds the weights of products with few rows to float16 (11 bits), except weights with an element
              ///< above 65504; all other operands stay as exported
};

}  // namespace tern
