// lobpcg of tern/sparse.h.
#include <fmt/format.h>
#include <tern/sparse.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/linalg/elements.h"
#include "runtime/linalg/wide.h"
#include "runtime/sparse/checks.h"
#include "runtime/sparse/vectors.h"

namespace tern::sparse {
namespace {

/// Columns x with A x and B x. B x is x without B.
template <class T>
struct Images {
  Columns<T> x, a, b;

  Images(std::int64_t n, std::int64_t k) : x(n, k), a(n, k), b(n, k) {}
};

/// Copies column `from` of `x` to column `to` of `y`.
template <class T>
void copy_column(const Columns<T>& x, std::int64_t from, Columns<T>& y, std::int64_t to) {
  for (std::int64_t r = 0; r < x.n; ++r) y.row(r)[to] = x.row(r)[from];
}
template <class T>
T product_of_columns(const Columns<T>& x, std::int64_t i, const Columns<T>& y, std::int64_t j) {
  T sum = T(0);
  for (std::int64_t r = 0; r < x.n; ++r) sum += conjugate_of(x.row(r)[i]) * y.row(r)[j];
  return sum;
}
template <class T>
void subtract_column(Columns<T>& x, std::int64_t i, T factor, const Columns<T>& y, std::int64_t j) {
  for (std::int64_t r = 0; r < x.n; ++r) x.row(r)[i] -= factor * y.row(r)[j];
}
template <class T>
void divide_column(Columns<T>& x, std::int64_t i, double by) {
  for (std::int64_t r = 0; r < x.n; ++r) x.row(r)[i] /= by;
}

/// Columns times a matrix [k, m].
template <class T>
Columns<T> combined(const Columns<T>& x, const std::vector<T>& matrix, std::int64_t m) {
  Columns<T> y(x.n, m);
  for (std::int64_t r = 0; r < x.n; ++r) {
    for (std::int64_t i = 0; i < x.k; ++i) {
      const T factor = x.row(r)[i];
      for (std::int64_t c = 0; c < m; ++c) y.row(r)[c] += factor * matrix[static_cast<std::size_t>(i * m + c)];
    }
  }
  return y;
}

template <class T>
class Lobpcg {
 public:
  Lobpcg(const Operator& a, const Tensor& start, const LobpcgOptions& o)
      : a_("lobpcg", "the operator", a, start.dtype()),
        b_("lobpcg", "the operator B", o.b, start.dtype()),
        preconditioner_("lobpcg", "the preconditioner", o.preconditioner, start.dtype()),
        o_(o),
        type_(start.dtype()),
        n_(start.sizes()[0]),
        k_(start.sizes()[1]) {}

  LobpcgResult run(const Tensor& start) {
    Images<T> basis(n_, 0);
    append(basis, columns_of<T>(start));
    if (basis.x.k < k_) fail_run("lobpcg", "the start has dependent or infinite columns");
    rayleigh_ritz(basis, 0);
    const double epsilon = linalg::epsilon(type_), rtol = o_.rtol > 0 ? o_.rtol : std::sqrt(epsilon);
    std::int64_t iteration = 0;
    for (;; ++iteration) {
      const Columns<T> residual = residuals();
      bool converged = true;
      for (std::int64_t i = 0; i < k_; ++i)
        converged &= lengths_[static_cast<std::size_t>(i)] <= rtol * largest_ * vector_length(i);
      if (converged || iteration == o_.most_iterations) return result(iteration, converged);
      basis = current_;
      append(basis, o_.preconditioner ? preconditioner_(residual, false) : residual);
      if (direction_.k > 0) append(basis, direction_);
      if (basis.x.k == k_) return result(iteration, converged);  // rounding limits the residuals
      rayleigh_ritz(basis, k_);
    }
  }

 private:
  /// Adds columns, orthonormal in the product of B, without those that depend on others.
  void append(Images<T>& basis, const Columns<T>& more) {
    const Columns<T> old = basis.x, old_b = basis.b;
    Columns<T> x(n_, old.k + more.k), image(n_, old.k + more.k);
    for (std::int64_t c = 0; c < old.k; ++c) copy_column(old, c, x, c), copy_column(old_b, c, image, c);
    std::int64_t count = old.k;
    for (std::int64_t c = 0; c < more.k; ++c) {
      Columns<T> v(n_, 1);
      copy_column(more, c, v, 0);
      double most = 0;
      for (const T e : v.x) most = std::max(most, std::abs(e));
      if (!(most > 0) || !std::isfinite(most)) continue;
      divide_column(v, 0, most);
      double before = 0, length = 0;
      Columns<T> bv(n_, 1);
      for (int pass = 0; pass < 3; ++pass) {
        for (std::int64_t i = 0; pass > 0 && i < count; ++i)
          subtract_column(v, 0, product_of_columns(image, i, v, 0), x, i);
        bv = o_.b ? b_(v, false) : v;
        const double square = std::real(product_of_columns(v, 0, bv, 0));
        if (square < 0 || std::isnan(square)) fail_run("lobpcg", "the operator B is not positive definite");
        length = std::sqrt(square);
        if (pass == 0) before = length;
        if (!(length > 0)) break;
      }
      if (!(length > 1e-10 * before) || count == n_) continue;
      divide_column(v, 0, length);
      divide_column(bv, 0, length);
      copy_column(v, 0, x, count);
      copy_column(bv, 0, image, count);
      ++count;
    }
    // A of the new columns alone.
    Columns<T> added(n_, count - old.k);
    for (std::int64_t c = old.k; c < count; ++c) copy_column(x, c, added, c - old.k);
    const Columns<T> images = added.k > 0 ? a_(added, false) : added;
    Images<T> grown(n_, count);
    for (std::int64_t c = 0; c < count; ++c) {
      copy_column(x, c, grown.x, c);
      copy_column(image, c, grown.b, c);
      c < old.k ? copy_column(basis.a, c, grown.a, c) : copy_column(images, c - old.k, grown.a, c);
    }
    basis = std::move(grown);
  }

  /// The best vectors of the basis, and their parts outside its first `kept` columns as the next directions.
  void rayleigh_ritz(const Images<T>& basis, std::int64_t kept) {
    const std::int64_t m = basis.x.k;
    Tensor small(std::is_floating_point_v<T> ? DType::f64 : DType::c128, {m, m});
    const auto g = linalg::matrix_of<T>(small, 0);
    for (std::int64_t r = 0; r < m; ++r) {
      for (std::int64_t c = 0; c <= r; ++c) {
        g(r, c) =
            (product_of_columns(basis.x, r, basis.a, c) + conjugate_of(product_of_columns(basis.x, c, basis.a, r))) /
            2.0;
      }
    }
    const linalg::EighResult found = linalg::eigh(small, {.threads = 1});
    const auto values = found.values.template span<double>();
    const auto v = linalg::matrix_of<T>(found.vectors, 0);
    std::vector<T> chosen(static_cast<std::size_t>(m * k_)), outside(chosen.size());
    values_.resize(static_cast<std::size_t>(k_));
    for (std::int64_t c = 0; c < k_; ++c) {
      const std::int64_t from = o_.largest ? m - 1 - c : c;
      values_[static_cast<std::size_t>(c)] = values[static_cast<std::size_t>(from)];
      for (std::int64_t r = 0; r < m; ++r) {
        chosen[static_cast<std::size_t>(r * k_ + c)] = v(r, from);
        if (r >= kept) outside[static_cast<std::size_t>(r * k_ + c)] = v(r, from);
      }
    }
    for (const double value : values) largest_ = std::max(largest_, std::abs(value));
    current_.x = combined(basis.x, chosen, k_);
    current_.a = combined(basis.a, chosen, k_);
    current_.b = combined(basis.b, chosen, k_);
    direction_ = kept > 0 ? combined(basis.x, outside, k_) : Columns<T>(n_, 0);
  }

  double vector_length(std::int64_t i) const {
    return std::sqrt(std::real(product_of_columns(current_.x, i, current_.x, i)));
  }

  /// A x - value B x, with lengths in `lengths_`.
  Columns<T> residuals() {
    Columns<T> r = current_.a;
    lengths_.resize(static_cast<std::size_t>(k_));
    for (std::int64_t i = 0; i < k_; ++i) {
      subtract_column(r, i, T(values_[static_cast<std::size_t>(i)]), current_.b, i);
      lengths_[static_cast<std::size_t>(i)] = std::sqrt(std::real(product_of_columns(r, i, r, i)));
    }
    return r;
  }

  LobpcgResult result(std::int64_t iterations, bool converged) const {
    Tensor values(DType::f64, {k_}), lengths(DType::f64, {k_});
    std::ranges::copy(values_, values.span<double>().begin());
    std::ranges::copy(lengths_, lengths.span<double>().begin());
    return {linalg::narrowed(values, linalg::real_type(type_)), tensor_of(current_.x, type_, false), lengths,
            iterations, converged};
  }

  Applied a_, b_, preconditioner_;
  const LobpcgOptions& o_;
  DType type_;
  std::int64_t n_, k_;
  Images<T> current_{0, 0};
  Columns<T> direction_{0, 0};
  std::vector<double> values_, lengths_;
  double largest_ = 0;  ///< largest size of the values seen: nearly the norm of A
};

}  // namespace

LobpcgResult lobpcg(const Operator& a, const Tensor& start, const LobpcgOptions& options) {
  if (!a) refuse("lobpcg", "needs an operator");
  require_numbers("lobpcg", start);
  if (start.sizes().size() != 2 || start.sizes()[1] < 1 || start.sizes()[1] > start.sizes()[0])
    refuse("lobpcg", "start must be [n, k] with 1 <= k <= n");
  return dispatch_wide(start.dtype(), [&](auto tag) { return Lobpcg<decltype(tag)>(a, start, options).run(start); });
}

}  // namespace tern::sparse
