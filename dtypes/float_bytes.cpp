#include "dtypes/float_bytes.h"

#include "dtypes/cast.h"
#include "dtypes/levels.h"

namespace tern {
namespace {

constexpr std::int64_t kRun = 64;

/// Numbers in int32's range have the same low bits through any integer type: vectors convert these numbers.
template <class To>
[[gnu::always_inline]] inline void convert_runs(const float* __restrict src, To* __restrict dst, std::int64_t count) {
  constexpr float kLimit = 0x1p31F;
  std::int64_t i = 0;
  for (; i + kRun <= count; i += kRun) {
    const float* s = src + i;
    To* d = dst + i;
    std::int32_t outside = 0;
    for (std::int64_t k = 0; k < kRun; ++k) outside |= s[k] > -kLimit && s[k] < kLimit ? 0 : 1;
    if (outside != 0) {
      for (std::int64_t k = 0; k < kRun; ++k) d[k] = cast_to<To>(s[k]);
    } else {
      for (std::int64_t k = 0; k < kRun; ++k) d[k] = static_cast<To>(static_cast<std::int32_t>(s[k]));
    }
  }
  for (; i < count; ++i) dst[i] = cast_to<To>(src[i]);
}

template <class To>
void convert(const float* src, To* dst, std::int64_t count) {
  visit_cpu_level([&](auto) __attribute__((always_inline)) { convert_runs(src, dst, count); });
}

}  // namespace

void bytes_of_floats(const float* src, std::uint8_t* dst, std::int64_t count) {
  convert(src, dst, count);
}

void bytes_of_floats(const float* src, std::int8_t* dst, std::int64_t count) {
  convert(src, dst, count);
}

}  // namespace tern
