#include "kernels/kernel.h"

#include <algorithm>

#include "kernels/cpu/optim/register.h"
#include "kernels/custom/library.h"
#include "kernels/portable/compiled.h"

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
  std::uint64_t stride = 1;  // a caller's tensor without elements may have other, overflowing sizes
  for (int i = v.rank - 1; i >= 0; --i) {
    v.strides[static_cast<std::size_t>(i)] = static_cast<std::int64_t>(stride);
    stride *= static_cast<std::uint64_t>(std::max<std::int64_t>(v.size(i), 1));
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
    portable::add_definitions(t, false);
    return t;
  }();
  return table;
}

}  // namespace tern
