#include "kernels/kernel.h"

#include <algorithm>

#include "kernels/custom/library.h"

namespace tern {

bool TensorView::contiguous() const {
  std::int64_t expected = 1;
  if (std::ranges::count(shape(), 0) != 0) return true;
  for (int i = rank - 1; i >= 0; --i) {
    if (size(i) != 1 && stride(i) != expected) return false;
    expected *= size(i);
  }
  return true;
}

void make_contiguous(TensorView& v) {
  // Of no elements nothing may be computed, where the other sizes may be as large as they like.
  const bool empty = std::ranges::count(v.shape(), 0) != 0;
  std::int64_t stride = empty ? 0 : 1;
  for (int i = v.rank - 1; i >= 0; --i) {
    v.strides[static_cast<std::size_t>(i)] = stride;
    if (!empty) stride *= v.size(i);
  }
}

const KernelTable& cpu_kernels() {
  static const KernelTable table = [] {
    KernelTable t;
    register_cpu_movement(t);
    register_cpu_pointwise(t);
    register_cpu_reductions(t);
    register_cpu_indexing(t);
    register_cpu_contractions(t);
    register_cpu_linalg(t);
    register_cpu_optim(t);
    register_collective(t);
    register_custom(t);
    return t;
  }();
  return table;
}

}  // namespace tern
