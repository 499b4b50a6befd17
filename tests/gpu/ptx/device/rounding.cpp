// Arithmetic in the rounding modes toward zero, down and up. This file is compiled with -frounding-math.
#include <cfenv>
#include <cmath>

#include "tests/gpu/ptx/device/device.h"

namespace {

class Rounding {
 public:
  explicit Rounding(int mode) { std::fesetround(mode); }
  ~Rounding() { std::fesetround(FE_TONEAREST); }
  Rounding(const Rounding&) = delete;
  Rounding& operator=(const Rounding&) = delete;
};

// A single NaN of f32, like device/floats.h.
f32 one_nan(f32 value) {
  if (value == value) return value;
  return __builtin_nanf("0x3fffff");
}
f64 one_nan(f64 value) {
  return value;
}

}  // namespace

// The volatile values keep each operation between the changes of the mode.
#define TERN_ONE(name, T, mode, parameters, expression) \
  T name parameters {                                   \
    volatile T result;                                  \
    {                                                   \
      const Rounding rounding(mode);                    \
      result = static_cast<T>(expression);              \
    }                                                   \
    return one_nan(result);                             \
  }
#define TERN_BOTH(name, m, mode, p32, p64, expression) \
  TERN_ONE(name##_##m##_f32, f32, mode, p32, expression) TERN_ONE(name##_##m##_f64, f64, mode, p64, expression)
#define TERN_MODE(m, mode)                                                                           \
  TERN_BOTH(add, m, mode, (volatile f32 a, volatile f32 b), (volatile f64 a, volatile f64 b), a + b) \
  TERN_BOTH(sub, m, mode, (volatile f32 a, volatile f32 b), (volatile f64 a, volatile f64 b), a - b) \
  TERN_BOTH(mul, m, mode, (volatile f32 a, volatile f32 b), (volatile f64 a, volatile f64 b), a* b)  \
  TERN_BOTH(div, m, mode, (volatile f32 a, volatile f32 b), (volatile f64 a, volatile f64 b), a / b) \
  TERN_BOTH(rcp, m, mode, (volatile f32 a), (volatile f64 a), 1 / a)                                 \
  TERN_BOTH(sqrt, m, mode, (volatile f32 a), (volatile f64 a), std::sqrt(a))                         \
  TERN_BOTH(fma, m, mode, (volatile f32 a, volatile f32 b, volatile f32 c),                          \
            (volatile f64 a, volatile f64 b, volatile f64 c), std::fma(a, b, c))                     \
  TERN_ONE(f32_##m##_s64, f32, mode, (volatile s64 a), a)                                            \
  TERN_ONE(f32_##m##_u64, f32, mode, (volatile u64 a), a)                                            \
  TERN_ONE(f64_##m##_s64, f64, mode, (volatile s64 a), a)                                            \
  TERN_ONE(f64_##m##_u64, f64, mode, (volatile u64 a), a)                                            \
  TERN_ONE(f32_##m##_f64, f32, mode, (volatile f64 a), a)

extern "C" {
TERN_MODE(rz, FE_TOWARDZERO)
TERN_MODE(rm, FE_DOWNWARD)
TERN_MODE(rp, FE_UPWARD)
}
