// The integer types of quantized products.
#pragma once

#include <tern/dtype.h>

namespace tern {

/// int8 or uint8.
constexpr bool is_byte_integer(DType t) {
  return t == DType::i8 || t == DType::u8;
}

}  // namespace tern
