// The spatial axes of windows: always three, missing axes first with size 1.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "kernels/portable/launches.h"

namespace tern::portable {

using Three = std::array<std::int64_t, 3>;

/// Attribute `key`, a value for each of the last `n` axes; `missing` for the axes before.
inline Three three_of(const Node& node, AttrKey key, std::size_t n, std::int64_t missing) {
  Three v{missing, missing, missing};
  for (std::size_t i = 0; i < n; ++i) v[3 - n + i] = node.integer_at(key, i);
  return v;
}

/// Sizes or strides of the last `n` axes of a view.
inline Three last_sizes(const TensorView& v, std::size_t n) {
  Three s{1, 1, 1};
  for (std::size_t i = 0; i < n; ++i) s[3 - n + i] = v.size(v.rank - static_cast<int>(n - i));
  return s;
}
inline Three last_strides(const TensorView& v, std::size_t n) {
  Three s{0, 0, 0};
  for (std::size_t i = 0; i < n; ++i) s[3 - n + i] = v.stride(v.rank - static_cast<int>(n - i));
  return s;
}

inline void parameter(Launch& k, const std::string& name, const Three& values) {
  k.source.parameter(name, std::span<const std::int64_t>(values));
}

}  // namespace tern::portable
