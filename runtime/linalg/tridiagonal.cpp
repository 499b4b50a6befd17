// tridiagonal_solve of tern/linalg.h: Gaussian elimination with partial pivoting, LAPACK's gtsv.
#include <tern/linalg.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/linalg/elements.h"
#include "runtime/linalg/nodes.h"
#include "threads/parallel.h"

namespace tern::linalg {
namespace {

template <class T>
auto size_of(T x) {
  return std::abs(std::real(x)) + std::abs(std::imag(x));
}

/// Solves in place of the rows of B [n, k]. All diagonals are overwritten; `second` [n - 2] receives the second
/// diagonal above. Returns 0, or the row of a zero pivot, from 1.
template <class T>
std::int32_t eliminate(std::int64_t n, std::int64_t k, T* lower, T* diagonal, T* upper, T* second, T* b) {
  std::int32_t info = 0;
  for (std::int64_t i = 0; i + 1 < n; ++i) {
    T *row = b + i * k, *next = row + k;
    const bool has_second = i + 2 < n;
    if (has_second) second[i] = T(0);
    if (size_of(diagonal[i]) < size_of(lower[i])) {
      std::swap(diagonal[i], lower[i]);
      std::swap(upper[i], diagonal[i + 1]);
      if (has_second) std::swap(second[i], upper[i + 1]);
      std::swap_ranges(row, next, next);
    }
    if (diagonal[i] == T(0)) {
      if (info == 0) info = static_cast<std::int32_t>(i) + 1;
      continue;
    }
    const T factor = lower[i] / diagonal[i];
    diagonal[i + 1] -= factor * upper[i];
    if (has_second) upper[i + 1] -= factor * second[i];
    for (std::int64_t c = 0; c < k; ++c) next[c] -= factor * row[c];
  }
  if (n > 0 && diagonal[n - 1] == T(0) && info == 0) info = static_cast<std::int32_t>(n);
  for (std::int64_t i = n; i-- > 0;) {
    T* row = b + i * k;
    for (std::int64_t c = 0; c < k; ++c) {
      T sum = row[c];
      if (i + 1 < n) sum -= upper[i] * row[k + c];
      if (i + 2 < n) sum -= second[i] * row[2 * k + c];
      row[c] = sum / diagonal[i];
    }
  }
  return info;
}

SolveResult solve_tridiagonal(const Nodes& nodes, const Tensor& lower, const Tensor& diagonal, const Tensor& upper,
                              const Tensor& b) {
  nodes.require_matrices(b);
  const std::vector<std::int64_t>& sizes = b.sizes();
  const std::int64_t n = sizes[sizes.size() - 2], k = sizes.back();
  std::vector<std::int64_t> expected(sizes.begin(), sizes.end() - 1);
  const auto has_sizes = [&](const Tensor& t) { return t.dtype() == b.dtype() && t.sizes() == expected; };
  if (!has_sizes(diagonal)) nodes.refuse("the diagonal must have the type of B, and its sizes without the last");
  expected.back() = std::max<std::int64_t>(n - 1, 0);
  if (!has_sizes(lower) || !has_sizes(upper))
    nodes.refuse("the diagonals beside the main diagonal must have its type, and one element fewer");
  SolveResult result{b.clone(), Tensor(DType::i32, {sizes.begin(), sizes.end() - 2})};
  Tensor below = lower.clone(), main = diagonal.clone(), above = upper.clone();
  visit(b.dtype(), [&](auto tag) {
    using T = decltype(tag);
    T *const x = result.x.span<T>().data(), *const d = main.span<T>().data();
    T *const l = below.span<T>().data(), *const u = above.span<T>().data();
    std::int32_t* const info = result.info.span<std::int32_t>().data();
    const std::int64_t beside = std::max<std::int64_t>(n - 1, 0);
    parallel_for(result.info.numel(), 1 + 20000 / (1 + n * (k + 3)), [&](std::int64_t begin, std::int64_t end) {
      std::vector<T> second(static_cast<std::size_t>(std::max<std::int64_t>(n - 2, 0)));
      for (std::int64_t i = begin; i < end; ++i)
        info[i] = eliminate(n, k, l + i * beside, d + i * n, u + i * beside, second.data(), x + i * n * k);
    });
  });
  return result;
}

}  // namespace

Tensor tridiagonal_solve(const Tensor& lower, const Tensor& diagonal, const Tensor& upper, const Tensor& b,
                         const Options& options) {
  const Nodes nodes("tridiagonal_solve", options.threads);
  const SolveResult r = solve_tridiagonal(nodes, lower, diagonal, upper, b);
  nodes.require_factored(r.info, "is singular: pivot {0} is zero");
  return r.x;
}
SolveResult tridiagonal_solve_ex(const Tensor& lower, const Tensor& diagonal, const Tensor& upper, const Tensor& b,
                                 const Options& options) {
  return solve_tridiagonal(Nodes("tridiagonal_solve_ex", options.threads), lower, diagonal, upper, b);
}

}  // namespace tern::linalg
