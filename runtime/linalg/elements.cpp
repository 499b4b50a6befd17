#include "runtime/linalg/elements.h"

#include <limits>
#include <utility>

namespace tern::linalg {

double epsilon(DType t) {
  return real_type(t) == DType::f64 ? std::numeric_limits<double>::epsilon()
                                    : static_cast<double>(std::numeric_limits<float>::epsilon());
}

Tensor identity(DType t, std::int64_t n) {
  Tensor one(t, {n, n});
  visit(t, [&](auto tag) {
    const auto x = one.span<decltype(tag)>();
    const auto size = static_cast<std::size_t>(n);
    for (std::size_t i = 0; i < size; ++i) x[i * (size + 1)] = 1;
  });
  return one;
}

Tensor adjoint(const Tensor& a) {
  std::vector<std::int64_t> sizes = a.sizes();
  const auto rank = sizes.size(), columns = static_cast<std::size_t>(sizes[rank - 1]);
  const auto rows = static_cast<std::size_t>(sizes[rank - 2]);
  std::swap(sizes[rank - 1], sizes[rank - 2]);
  Tensor result(a.dtype(), std::move(sizes));
  visit(a.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const auto from = a.span<T>();
    const auto to = result.span<T>();
    for (std::size_t first = 0; first < from.size(); first += rows * columns) {
      for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t c = 0; c < columns; ++c) {
          const T x = from[first + r * columns + c];
          if constexpr (std::is_floating_point_v<T>) {
            to[first + c * rows + r] = x;
          } else {
            to[first + c * rows + r] = std::conj(x);
          }
        }
      }
    }
  });
  return result;
}

void scale_columns(Tensor& a, const Tensor& factors) {
  const auto k = static_cast<std::size_t>(a.sizes().back());
  const auto rows = static_cast<std::size_t>(a.sizes()[a.sizes().size() - 2]);
  visit(a.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const auto x = a.span<T>();
    const auto f = std::as_const(factors).span<typename RealOf<T>::type>();
    for (std::size_t row = 0; k > 0 && row < x.size() / k; ++row) {
      for (std::size_t j = 0; j < k; ++j) x[row * k + j] *= f[row / rows * k + j];
    }
  });
}

}  // namespace tern::linalg
