// Selected eigenvalues of hermitian and of tridiagonal matrices (tern/linalg.h).
#include <tern/linalg.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "kernels/cpu/linalg/large.h"
#include "runtime/device_tensor.h"
#include "runtime/linalg/elements.h"
#include "runtime/linalg/nodes.h"
#include "runtime/linalg/wide.h"
#include "runtime/matrices/tridiagonal_eigen.h"

namespace tern::linalg {
namespace {

using matrices::Complex;

constexpr std::int64_t kSmallest = 64;  // rows of matrices for which LAPACK's selection is faster than all eigenvalues

/// The option's range for matrices of n rows.
struct Selection {
  std::int64_t first, last;
  double low, high;

  bool has_values() const { return low > -std::numeric_limits<double>::infinity() || std::isfinite(high); }
  std::int64_t index_count() const { return std::max<std::int64_t>(last - first + 1, 0); }
  bool contains(std::int64_t k, double value) const { return k >= first && k <= last && value > low && value <= high; }
};

Selection selection_of(const Nodes& nodes, const EighRangeOptions& o, std::int64_t n) {
  const auto from_start = [&](std::int64_t k) { return k < 0 ? k + n : k; };
  Selection s{from_start(o.first), from_start(o.last), o.low, o.high};
  if (n == 0) return {0, -1, o.low, o.high};
  if (s.first < 0 || s.first >= n || s.last < 0 || s.last >= n)
    nodes.refuse("first and last must be numbers of eigenvalues: -n to n - 1");
  if (std::isnan(o.low) || std::isnan(o.high)) nodes.refuse("low and high must not be NaN");
  return s;
}

/// Eigenvalues of one matrix, ascending, and vectors in the columns of [n, n], of which the first `count` are selected.
struct Found {
  std::vector<double> values;
  Tensor vectors;  ///< [n, n] in double precision
  std::int64_t count = 0;
};

EighRangeExResult collect(std::vector<Found>& found, Tensor info, std::int64_t n, DType t) {
  std::int64_t columns = 0;
  for (const Found& f : found) columns = std::max(columns, f.count);
  std::vector<std::int64_t> sizes = info.sizes(), vector_sizes = sizes;
  sizes.push_back(columns);
  vector_sizes.insert(vector_sizes.end(), {n, columns});
  const DType wide = real_type(t) == t ? DType::f64 : DType::c128;
  Tensor values(DType::f64, sizes), vectors(wide, vector_sizes), counts(DType::i32, info.sizes());
  for (std::size_t i = 0; i < found.size(); ++i) {
    Found& f = found[i];
    counts.span<std::int32_t>()[i] = static_cast<std::int32_t>(f.count);
    for (std::int64_t k = 0; k < columns; ++k) {
      const bool selected = k < f.count;
      values.span<double>()[i * static_cast<std::size_t>(columns) + static_cast<std::size_t>(k)] =
          selected ? f.values[static_cast<std::size_t>(k)] : std::numeric_limits<double>::quiet_NaN();
      visit(wide, [&](auto tag) {
        using T = decltype(tag);
        if constexpr (sizeof(typename RealOf<T>::type) == sizeof(double)) {
          const auto to = matrix_of<T>(vectors, static_cast<std::int64_t>(i));
          for (std::int64_t r = 0; r < n; ++r)
            to(r, k) = selected ? matrix_of<T>(f.vectors, 0)(r, k) : T(std::numeric_limits<double>::quiet_NaN());
        }
      });
    }
  }
  return {narrowed(values, real_type(t)), narrowed(vectors, t), counts, std::move(info)};
}

/// Moves the selected values and columns to the front.
template <class T>
void select(Found& f, const Selection& s, std::int64_t n) {
  for (std::int64_t k = 0; k < n; ++k) {
    const double value = f.values[static_cast<std::size_t>(k)];
    if (!s.contains(k, value)) continue;
    f.values[static_cast<std::size_t>(f.count)] = value;
    for (std::int64_t r = 0; r < n; ++r) {
      const auto vectors = matrix_of<T>(f.vectors, 0);
      vectors(r, f.count) = vectors(r, k);
    }
    ++f.count;
  }
}

/// LAPACK's range, if it selects by numbers or by values alone.
std::optional<cpu::EigenRange> lapack_range(const Selection& s, std::int64_t n) {
  if (n <= kSmallest) return std::nullopt;
  if (s.has_values() && s.first == 0 && s.last == n - 1) return cpu::EigenRange{true, 0, 0, s.low, s.high};
  if (s.has_values() || s.index_count() == 0 || 2 * s.index_count() > n) return std::nullopt;
  return cpu::EigenRange{false, s.first, s.last, 0, 0};
}

/// Replaces infinite ends by ends beyond all eigenvalues of a matrix of n rows with parts below 2^exponent. Returns
/// false for an empty range.
bool make_finite(cpu::EigenRange& r, std::int64_t n, int exponent) {
  if (!r.selects_values) return true;
  const double most = std::numeric_limits<double>::max();
  const double end = std::min(most, std::ldexp(4.0 * static_cast<double>(n), std::max(exponent, -1000)));
  r.low = std::max(r.low, -end), r.high = std::min(r.high, end);
  return r.low < r.high;
}

/// Copies the selected triangle of A to the lower triangle; the other triangle becomes zero.
template <class T>
void lower_triangle(matrices::MatrixRef<T> a, bool upper) {
  for (std::int64_t r = 0; r < a.rows; ++r) {
    for (std::int64_t c = 0; c <= r; ++c) {
      if (upper) a(r, c) = matrices::conjugate(a(c, r));
      if (c < r) a(c, r) = T(0);
    }
    a(r, r) = std::real(a(r, r));
  }
}

EighRangeExResult range_of(const Nodes& nodes, const Tensor& a, const EighRangeOptions& o) {
  require_square(nodes, a);
  const std::int64_t n = a.sizes().back();
  const Selection s = selection_of(nodes, o, n);
  const std::optional<cpu::EigenRange> range = lapack_range(s, n);
  const bool is_real = !has_complex_type(a);
  Tensor wide = widened(a, false), info;
  const std::vector<std::int64_t> batch(a.sizes().begin(), a.sizes().end() - 2);
  std::vector<Found> found(static_cast<std::size_t>(Tensor(DType::i32, batch).numel()));
  bool by_lapack = range.has_value() && !(s.low >= s.high);
  if (by_lapack) {
    for (std::size_t i = 0; i < found.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      is_real ? lower_triangle(matrix_of<double>(wide, at), o.upper)
              : lower_triangle(matrix_of<Complex>(wide, at), o.upper);
    }
    info = info_of({&wide});
    visit_matrices(info, 2.0 * static_cast<double>(n * n * n), [&](std::int64_t i) {
      Found& f = found[static_cast<std::size_t>(i)];
      f.values.resize(static_cast<std::size_t>(n));
      f.vectors = Tensor(wide.dtype(), {n, n});
      cpu::EigenRange own = *range;
      if (!make_finite(own, n,
                       is_real ? matrices::exponent_of(matrix_of<double>(wide, i).data, n * n)
                               : matrices::exponent_of(matrix_of<Complex>(wide, i).data, n * n)))
        return 0;
      const std::optional<std::int64_t> count =
          is_real ? cpu::lapack_eigh_range(n, matrix_of<double>(wide, i).data, own, f.values.data(),
                                           matrix_of<double>(f.vectors, 0).data)
                  : cpu::lapack_eigh_range(n, matrix_of<Complex>(wide, i).data, own, f.values.data(),
                                           matrix_of<Complex>(f.vectors, 0).data);
      if (!count) return -1;  // without LAPACK
      f.count = std::max<std::int64_t>(*count, 0);
      return *count < 0 ? kNoConvergence : 0;
    });
    const auto numbers = info.span<std::int32_t>();
    by_lapack = std::ranges::find(numbers, -1) == numbers.end();
  }
  if (!by_lapack) {
    const EighExResult all = eigh_ex(a, {.upper = o.upper, .threads = o.threads});
    info = all.info;
    const Tensor values = widened(all.values, false);
    Tensor vectors = widened(all.vectors, false);
    for (std::size_t i = 0; i < found.size(); ++i) {
      Found& f = found[i];
      f = {};
      const auto at = static_cast<std::int64_t>(i);
      if (info.span<std::int32_t>()[i] != 0) continue;
      const double* const w = values.span<double>().data() + at * n;
      f.values.assign(w, w + n);
      f.vectors = Tensor::borrow(is_real ? static_cast<void*>(matrix_of<double>(vectors, at).data)
                                         : static_cast<void*>(matrix_of<Complex>(vectors, at).data),
                                 vectors.dtype(), {n, n});
      is_real ? select<double>(f, s, n) : select<Complex>(f, s, n);
    }
    return collect(found, info, n, a.dtype());  // while `vectors` lives
  }
  return collect(found, info, n, a.dtype());
}

EighRangeExResult tridiagonal_of(const Nodes& nodes, const Tensor& d, const Tensor& e, const EighRangeOptions& o) {
  if ((d.dtype() != DType::f32 && d.dtype() != DType::f64) || e.dtype() != d.dtype())
    nodes.refuse("diagonals must both be float32 or float64");
  if (!TensorMemory::is_on_host(d) || !TensorMemory::is_on_host(e))
    nodes.refuse("computes on the host; pass tensors as to(\"cpu\")");
  std::vector<std::int64_t> expected = d.sizes();
  if (expected.empty()) nodes.refuse("diagonals need an axis");
  const std::int64_t n = expected.back();
  expected.back() = std::max<std::int64_t>(n - 1, 0);
  if (e.sizes() != expected) nodes.refuse("the diagonal beside the main diagonal must have one element fewer");
  const Selection s = selection_of(nodes, o, n);
  const std::optional<cpu::EigenRange> range = s.low >= s.high ? std::nullopt : lapack_range(s, n);
  Tensor info = info_of({&d, &e}, 1);
  const Tensor main = widened(d, false), beside = widened(e, false);
  std::vector<Found> found(static_cast<std::size_t>(info.numel()));
  visit_matrices(info, 6.0 * static_cast<double>(n * n * n), [&](std::int64_t i) {
    Found& f = found[static_cast<std::size_t>(i)];
    const double *const x = main.span<double>().data() + i * n, *const y = beside.span<double>().data() +
                                                                           i * std::max<std::int64_t>(n - 1, 0);
    std::vector<double> diagonal(x, x + n), other(y, y + std::max<std::int64_t>(n - 1, 0));
    other.resize(static_cast<std::size_t>(n) + 1);
    f.vectors = Tensor(DType::f64, {n, n});
    double* const z = matrix_of<double>(f.vectors, 0).data;
    cpu::EigenRange own = range.value_or(cpu::EigenRange{});
    const int exponent = std::max(matrices::exponent_of(x, n), matrices::exponent_of(other.data(), n));
    if (range && !make_finite(own, n, exponent)) return 0;
    if (range) {
      f.values.resize(static_cast<std::size_t>(n));
      if (const std::optional<std::int64_t> count =
              cpu::lapack_tridiagonal_range(n, diagonal.data(), other.data(), own, f.values.data(), z)) {
        f.count = std::max<std::int64_t>(*count, 0);
        return *count < 0 ? kNoConvergence : 0;
      }
    }
    if (!matrices::eigen_of_tridiagonal(n, diagonal.data(), other.data(), z)) return kNoConvergence;
    f.values = std::move(diagonal);
    select<double>(f, s, n);
    return 0;
  });
  return collect(found, info, n, d.dtype());
}

constexpr const char* kNoValues = "has no eigenvalues in the range of its type";

}  // namespace

EighRangeResult eigh_range(const Tensor& a, const EighRangeOptions& options) {
  const Nodes nodes("eigh_range", options.threads);
  const EighRangeExResult r = range_of(nodes, a, options);
  nodes.require_solved(r.info, kNoValues);
  return {r.values, r.vectors, r.counts};
}
EighRangeExResult eigh_range_ex(const Tensor& a, const EighRangeOptions& options) {
  return range_of(Nodes("eigh_range_ex", options.threads), a, options);
}

EighRangeResult eigh_tridiagonal(const Tensor& diagonal, const Tensor& beside, const EighRangeOptions& options) {
  const Nodes nodes("eigh_tridiagonal", options.threads);
  const EighRangeExResult r = tridiagonal_of(nodes, diagonal, beside, options);
  nodes.require_solved(r.info, kNoValues);
  return {r.values, r.vectors, r.counts};
}
EighRangeExResult eigh_tridiagonal_ex(const Tensor& diagonal, const Tensor& beside, const EighRangeOptions& options) {
  return tridiagonal_of(Nodes("eigh_tridiagonal_ex", options.threads), diagonal, beside, options);
}

}  // namespace tern::linalg
