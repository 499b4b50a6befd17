// The end of uniform random numbers.
#pragma once

#include <tern/dtype.h>

#include <cmath>

namespace tern {

/// The largest number not rounded to 1 in the type.
inline double below_one(DType t) {
  int bits = 3;
  switch (t) {
    case DType::f64: bits = 53; break;
    case DType::f32: bits = 24; break;
    case DType::f16: bits = 11; break;
    case DType::bf16: bits = 8; break;
    case DType::f8_e4m3fn:
    case DType::f8_e4m3fnuz:
    case DType::f6_e2m3: bits = 4; break;
    default: break;
  }
  return std::nextafter(1 - std::ldexp(0.5, -bits), 0.0);
}

}  // namespace tern
