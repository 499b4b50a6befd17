// Conjugate gradients and generalized minimal residuals of tern/sparse.h.
#include <fmt/format.h>
#include <tern/sparse.h>

#include <algorithm>
#include <cmath>

#include "runtime/sparse/checks.h"
#include "runtime/sparse/vectors.h"

namespace tern::sparse {
namespace {

template <class T>
T inner_product(const Columns<T>& x, const Columns<T>& y) {
  T sum = T(0);
  for (std::size_t i = 0; i < x.x.size(); ++i) sum += conjugate_of(x.x[i]) * y.x[i];
  return sum;
}
/// Length without overflow of squares.
template <class T>
double vector_length(const Columns<T>& x) {
  double largest = 0, sum = 0;
  for (const T e : x.x) largest = std::max({largest, std::abs(std::real(e)), std::abs(std::imag(e))});
  if (largest == 0) return 0;
  for (const T e : x.x) sum += std::norm(e / largest);
  return largest * std::sqrt(sum);
}
template <class T>
void add_multiple(Columns<T>& to, T factor, const Columns<T>& x) {
  for (std::size_t i = 0; i < to.x.size(); ++i) to.x[i] += factor * x.x[i];
}

/// State that both methods share.
template <class T>
struct System {
  Applied a, preconditioner;
  const IterationOptions& options;
  DType type;
  Columns<T> b, x, residual;
  double limit;
  std::int64_t max_products;

  System(const char* function, const Operator& product, const Tensor& right, const IterationOptions& o)
      : a(function, "the operator", product, right.dtype()),
        preconditioner(function, "the preconditioner", o.preconditioner, right.dtype()),
        options(o),
        type(right.dtype()),
        b(columns_of<T>(right)),
        x(b.n, 1),
        residual(b),
        limit(std::max(o.rtol * vector_length(b), o.atol)),
        max_products(o.most_iterations > 0 ? o.most_iterations : 10 * std::max<std::int64_t>(b.n, 1)) {
    for (const T e : b.x) {
      if (!std::isfinite(std::real(e)) || !std::isfinite(std::imag(e)))
        fail_run(function, "the right side has NaN or infinities");
    }
    if (o.start.dtype() == DType::invalid) return;
    require_vectors(function, o.start, type, b.n);
    if (o.start.sizes().size() != 1) refuse(function, "start must be a vector");
    x = columns_of<T>(o.start);
    compute_residual();
  }
  void compute_residual() {
    residual = b;
    add_multiple(residual, T(-1), a(x, true));
  }
  Columns<T> preconditioned(const Columns<T>& v) const { return options.preconditioner ? preconditioner(v, true) : v; }
  /// The result, with the residual of X rounded to the type.
  IterationResult result(std::int64_t iterations) {
    IterationResult r{tensor_of(x, type, true), iterations, 0, false};
    x = columns_of<T>(r.x);
    compute_residual();
    r.residual = vector_length(residual);
    // Rounding to the type may exceed the limit that the iteration reached.
    r.converged = r.residual <= 1.01 * limit;
    return r;
  }
};

void require_system(const char* function, const Operator& a, const Tensor& b) {
  if (!a) refuse(function, "needs an operator");
  require_numbers(function, b);
  if (b.sizes().size() != 1) refuse(function, "the right side must be a vector [n]");
}

template <class T>
IterationResult conjugate_gradients(const Operator& a, const Tensor& b, const IterationOptions& o) {
  constexpr const char* kName = "cg";
  System<T> s(kName, a, b, o);
  Columns<T> direction(s.b.n, 1);
  double before = 0;
  std::int64_t k = 0;
  for (; k < s.max_products && vector_length(s.residual) > s.limit; ++k) {
    const Columns<T> z = s.preconditioned(s.residual);
    const double product = std::real(inner_product(s.residual, z));
    if (!(product > 0))
      fail_run(kName, fmt::format("the preconditioner is not positive definite: r^H M r is {:.3g}", product));
    const double factor = k == 0 ? 0 : product / before;
    for (std::size_t i = 0; i < z.x.size(); ++i) direction.x[i] = z.x[i] + factor * direction.x[i];
    const Columns<T> image = s.a(direction, true);
    const double curvature = std::real(inner_product(direction, image));
    if (!(curvature > 0))
      fail_run(kName,
               fmt::format("the matrix is not positive definite: p^H A p is {:.3g} in iteration {}", curvature, k + 1));
    add_multiple(s.x, T(product / curvature), direction);
    add_multiple(s.residual, T(-product / curvature), image);
    before = product;
  }
  return s.result(k);
}

/// Rotations keep the Hessenberg matrix of the projected problem triangular.
template <class T>
IterationResult minimal_residuals(const Operator& a, const Tensor& b, const IterationOptions& o) {
  System<T> s("gmres", a, b, o);
  if (o.restart < 1) refuse("gmres", "restart must be at least 1");
  const std::int64_t restart = std::min(o.restart, std::max<std::int64_t>(s.b.n, 1));
  const auto width = static_cast<std::size_t>(restart);
  std::int64_t products = 0;
  for (double length = vector_length(s.residual); length > s.limit && products < s.max_products;) {
    std::vector<Columns<T>> basis;
    std::vector<std::vector<T>> h;  // columns of the triangle
    std::vector<T> right{T(length)}, sines;
    std::vector<double> cosines;
    basis.push_back(s.residual);
    for (T& e : basis[0].x) e /= length;
    double rest = length;
    while (h.size() < width && products < s.max_products && rest > s.limit) {
      Columns<T> v = s.a(s.preconditioned(basis.back()), true);
      ++products;
      std::vector<T> column(basis.size() + 1);
      const double size = vector_length(v);
      for (int pass = 0; pass < 2; ++pass) {  // twice is enough (Giraud, Langou and Rozloznik, 2005)
        for (std::size_t i = 0; i < basis.size(); ++i) {
          const T product = inner_product(basis[i], v);
          column[i] += product;
          add_multiple(v, -product, basis[i]);
        }
      }
      const double next = vector_length(v);
      for (std::size_t i = 0; i < cosines.size(); ++i) {
        const T before = column[i];
        column[i] = cosines[i] * before + sines[i] * column[i + 1];
        column[i + 1] = cosines[i] * column[i + 1] - conjugate_of(sines[i]) * before;
      }
      T& last = column[basis.size() - 1];
      const double own = std::abs(last), diagonal = std::hypot(own, next);
      if (diagonal <= 1e-14 * size) break;  // A is singular on this space
      const T direction = own == 0 ? T(1) : last / own;
      cosines.push_back(own / diagonal);
      sines.push_back(direction * (next / diagonal));
      last = direction * diagonal;
      column.pop_back();
      h.push_back(column);
      right.push_back(-conjugate_of(sines.back()) * right.back());
      right[right.size() - 2] *= cosines.back();
      rest = std::abs(right.back());
      if (next <= 1e-14 * size) break;  // the space is invariant
      for (T& e : v.x) e /= next;
      basis.push_back(std::move(v));
    }
    if (h.empty()) break;
    std::vector<T> y(h.size());
    for (std::size_t i = h.size(); i-- > 0;) {
      T sum = right[i];
      for (std::size_t k = i + 1; k < h.size(); ++k) sum -= h[k][i] * y[k];
      y[i] = sum / h[i][i];
    }
    Columns<T> step(s.b.n, 1);
    for (std::size_t i = 0; i < h.size(); ++i) add_multiple(step, y[i], basis[i]);
    add_multiple(s.x, T(1), s.preconditioned(step));
    s.compute_residual();
    const double before = length;
    length = vector_length(s.residual);
    if (!(length < before * (1 - 1e-12))) break;  // stagnates
  }
  return s.result(products);
}

}  // namespace

IterationResult cg(const Operator& a, const Tensor& b, const IterationOptions& options) {
  require_system("cg", a, b);
  return dispatch_wide(b.dtype(), [&](auto tag) { return conjugate_gradients<decltype(tag)>(a, b, options); });
}

IterationResult gmres(const Operator& a, const Tensor& b, const IterationOptions& options) {
  require_system("gmres", a, b);
  return dispatch_wide(b.dtype(), [&](auto tag) { return minimal_residuals<decltype(tag)>(a, b, options); });
}

}  // namespace tern::sparse
