// How elements are ordered, NaN above all, and lines of them with their positions.
#pragma once

#include <cstdint>

#include "kernels/cpu/accumulate.h"

namespace tern {

/// An element of a line and where it was.
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
