// Loops around a function of a single element, for operations compiled once.
#pragma once

#include <cstdint>

namespace tern::pointwise {

/// `kF` is a lambda without captures: T to R.
template <class T, class R, auto kF>
void loop1(void* dst, const void* a, const void*, const void*, std::int64_t n) {
  R* d = static_cast<R*>(dst);
  const T* pa = static_cast<const T*>(a);
  for (std::int64_t i = 0; i < n; ++i) d[i] = kF(pa[i]);
}

template <class T, class R, auto kF>
void loop2(void* dst, const void* a, const void* b, const void*, std::int64_t n) {
  R* d = static_cast<R*>(dst);
  const T* pa = static_cast<const T*>(a);
  const T* pb = static_cast<const T*>(b);
  for (std::int64_t i = 0; i < n; ++i) d[i] = kF(pa[i], pb[i]);
}

}  // namespace tern::pointwise
