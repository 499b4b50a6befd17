#include "kernels/cpu/reproducible/product.h"

#include <algorithm>

#include "dtypes/cpu_features.h"
#include "kernels/cpu/products/float32/strided_driver.h"
#include "kernels/cpu/reproducible/loops.h"
#include "threads/parallel.h"

namespace tern::reproducible {
namespace {

constexpr std::int64_t kColumns = 512;  // columns of sums kept in the first cache

}  // namespace

template <class T>
void product(std::int64_t m, std::int64_t n, std::int64_t k, MatrixView<T> a, MatrixView<T> b, T* c, std::int64_t ldc) {
  if (m == 0 || n == 0) return;
  if constexpr (std::is_same_v<T, float>) {
    if (k > 0 && !is_baseline_cpu())
      return sgemm_in_order(m, n, k, a.data, a.row, a.column, b.data, b.row, b.column, c, ldc);
  }
  const AddScaled<T> add = add_scaled(T{});
  const std::int64_t blocks = (n + kColumns - 1) / kColumns;
  parallel_for(
      m * blocks, (1 << 15) / std::max<std::int64_t>(1, k * std::min(n, kColumns)) + 1,
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t row = i / blocks, first = i % blocks * kColumns, count = std::min(kColumns, n - first);
          T* sums = c + row * ldc + first;
          std::fill_n(sums, count, T(0));
          for (std::int64_t p = 0; p < k; ++p) {
            add(a.data[row * a.row + p * a.column], b.data + p * b.row + first * b.column, b.column, count, sums);
          }
        }
      });
}

#define TERN_PRODUCT(T) \
  template void product<T>(std::int64_t, std::int64_t, std::int64_t, MatrixView<T>, MatrixView<T>, T*, std::int64_t);
TERN_PRODUCT(float)
TERN_PRODUCT(double)
TERN_PRODUCT(std::complex<float>)
TERN_PRODUCT(std::complex<double>)
TERN_PRODUCT(std::int64_t)
#undef TERN_PRODUCT

}  // namespace tern::reproducible
