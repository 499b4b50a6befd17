// Order of elements, NaN largest, and lines of elements with positions.
#pragma once

#include <cstdint>

#include "kernels/cpu/accumulate.h"

namespace tern {

/// An element of a line with its original index.
template <class L>
struct Keyed {
  L value;
  std::int64_t index;
};

template <class L>
bool ascends(L a, L b) {
  return a < b || (!is_nan(a) && is_nan(b));
}
template <class L>
bool descends(L a, L b) {
  return a > b || (is_nan(a) && !is_nan(b));
}

}  // namespace tern
