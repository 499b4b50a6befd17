// Sizes and strides of a tensor, in elements.
#pragma once

#include <cstdint>
#include <vector>

namespace tern::gpu {

struct Shape {
  std::vector<std::int64_t> sizes, strides;
  bool operator==(const Shape&) const = default;
};

/// Row-major.
inline Shape contiguous(std::vector<std::int64_t> sizes) {
  Shape s{std::move(sizes), {}};
  s.strides.assign(s.sizes.size(), 1);
  for (std::size_t i = s.sizes.size(); i-- > 1;) s.strides[i - 1] = s.strides[i] * s.sizes[i];
  return s;
}

}  // namespace tern::gpu
