// cholesky_update of tern/linalg.h: rotations of LINPACK's chud and chdd (Dongarra et al., 1979).
#include <tern/linalg.h>

#include <cmath>

#include "runtime/linalg/elements.h"
#include "runtime/linalg/nodes.h"
#include "threads/parallel.h"

namespace tern::linalg {
namespace {

template <class T>
T conjugate(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return x;
  } else {
    return std::conj(x);
  }
}

/// Updates the factor L, with L[r, c] at l[r * row + c * column], by x, which is overwritten. Returns 0, or the row
/// without a positive pivot, from 1.
template <class T>
std::int32_t update_factor(T* l, std::int64_t n, std::int64_t row, std::int64_t column, T* x, bool downdate) {
  using R = typename RealOf<T>::type;
  for (std::int64_t k = 0; k < n; ++k) {
    T* pivot = l + k * (row + column);
    const R old = std::real(*pivot), size = std::abs(x[k]);
    // (old - size) (old + size) keeps digits that the difference of squares loses.
    const R length = downdate ? std::sqrt((old - size) * (old + size)) : std::hypot(old, size);
    if (!(length > 0) || !std::isfinite(length)) return static_cast<std::int32_t>(k) + 1;
    *pivot = length;
    const R cosine = downdate ? length / old : old / length;
    const T sine = downdate ? x[k] / old : x[k] / length, other = conjugate(sine);
    for (std::int64_t r = k + 1; r < n; ++r) {
      T& element = l[r * row + k * column];
      const T before = element;
      element = downdate ? (before - other * x[r]) / cosine : cosine * before + other * x[r];
      x[r] = cosine * x[r] - sine * (downdate ? element : before);
    }
  }
  return 0;
}

/// L of U = L^H: the elements of L are those of U, conjugated and transposed.
template <class T>
void conjugate_all(T* x, std::int64_t n) {
  if constexpr (!std::is_floating_point_v<T>) {
    for (std::int64_t i = 0; i < n; ++i) x[i] = std::conj(x[i]);
  }
}

CholeskyResult updated(const Nodes& nodes, const Tensor& factor, const Tensor& x, const UpdateOptions& o) {
  nodes.require_matrices(factor);
  const std::vector<std::int64_t>& sizes = factor.sizes();
  const std::int64_t n = sizes.back();
  if (sizes[sizes.size() - 2] != n) nodes.refuse("only square matrices have factors");
  if (x.dtype() != factor.dtype() || x.sizes() != std::vector<std::int64_t>(sizes.begin(), sizes.end() - 1))
    nodes.refuse("x must have the type of the factor, and its sizes without the last");
  CholeskyResult result{factor.clone(), Tensor(DType::i32, {sizes.begin(), sizes.end() - 2})};
  Tensor vectors = x.clone();
  visit(factor.dtype(), [&](auto tag) {
    using T = decltype(tag);
    T* const l = result.factor.span<T>().data();
    T* const v = vectors.span<T>().data();
    std::int32_t* const info = result.info.span<std::int32_t>().data();
    const std::int64_t grain = 1 + 20000 / (1 + n * n);
    parallel_for(result.info.numel(), grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        T* const matrix = l + i * n * n;
        if (o.upper) conjugate_all(matrix, n * n);
        info[i] = update_factor(matrix, n, o.upper ? 1 : n, o.upper ? n : 1, v + i * n, o.downdate);
        if (o.upper) conjugate_all(matrix, n * n);
      }
    });
  });
  return result;
}

}  // namespace

Tensor cholesky_update(const Tensor& factor, const Tensor& x, const UpdateOptions& options) {
  const Nodes nodes("cholesky_update", options.threads);
  const CholeskyResult r = updated(nodes, factor, x, options);
  nodes.require_factored(r.info, "is not positive definite after the update: row {0} has no positive pivot");
  return r.factor;
}
CholeskyResult cholesky_update_ex(const Tensor& factor, const Tensor& x, const UpdateOptions& options) {
  return updated(Nodes("cholesky_update_ex", options.threads), factor, x, options);
}

}  // namespace tern::linalg
