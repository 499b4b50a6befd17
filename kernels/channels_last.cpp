#include "kernels/channels_last.h"

#include <algorithm>

#include "kernels/cpu/dense.h"

namespace tern {

TensorView to_channels_last_order(const TensorView& v, int rank) {
  TensorView r = v.rank < rank ? unsqueeze_to_rank(v, rank) : v;
  const auto n = static_cast<std::size_t>(rank);
  std::rotate(r.sizes.begin() + 1, r.sizes.begin() + 2, r.sizes.begin() + static_cast<std::ptrdiff_t>(n));
  std::rotate(r.strides.begin() + 1, r.strides.begin() + 2, r.strides.begin() + static_cast<std::ptrdiff_t>(n));
  return r;
}

bool is_channels_last(const TensorView& v) {
  return v.rank >= 3 && v.rank <= 5 && !v.contiguous() && to_channels_last_order(v, v.rank).contiguous();
}

void make_channels_last(TensorView& v) {
  std::int64_t stride = v.size(1);
  for (int i = v.rank - 1; i >= 2; --i) {
    v.strides[static_cast<std::size_t>(i)] = stride;
    stride *= v.size(i);
  }
  v.strides[0] = stride;
  v.strides[1] = 1;
}

}  // namespace tern
