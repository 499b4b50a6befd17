// Sylvester's and Lyapunov's equations of tern/linalg.h, by Schur forms.
#include <tern/linalg.h>

#include <algorithm>

#include "runtime/linalg/elements.h"
#include "runtime/linalg/nodes.h"
#include "runtime/linalg/wide.h"
#include "runtime/matrices/schur_form.h"
#include "runtime/matrices/triangular_equations.h"

namespace tern::linalg {
namespace {

using matrices::Complex;
using matrices::MatrixRef;

/// A coefficient of an equation, 2^exponent U R U^H.
struct Coefficient {
  Tensor r, u;
};

/// Exponents of unusual size for each matrix of a batch in double precision, of the larger if there are two batches.
std::vector<int> exponents_of(std::initializer_list<const Tensor*> batches) {
  std::vector<int> found;
  for (const Tensor* t : batches) {
    const std::int64_t rows = t->sizes()[t->sizes().size() - 2], elements = rows * t->sizes().back();
    if (elements == 0) continue;
    found.resize(static_cast<std::size_t>(t->numel() / elements), matrices::kExponentOfZero);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      found[i] = std::max(found[i], t->dtype() == DType::f64
                                        ? matrices::exponent_of(matrix_of<double>(*t, at).data, elements)
                                        : matrices::exponent_of(matrix_of<Complex>(*t, at).data, elements));
    }
  }
  std::ranges::transform(found, found.begin(), matrices::unusual);
  return found;
}

/// The Schur forms of a batch in double precision, with failures in `info`.
Coefficient coefficient_of(Tensor a, Tensor& info) {
  Coefficient f{std::move(a), {}};
  const auto n = static_cast<double>(f.r.sizes().back());
  const bool is_real = f.r.dtype() == DType::f64;
  f.u = Tensor(f.r.dtype(), f.r.sizes());
  visit_matrices(info, 25 * n * n * n, [&](std::int64_t i) {
    const bool found = is_real ? matrices::to_schur_form(matrix_of<double>(f.r, i), matrix_of<double>(f.u, i))
                               : matrices::to_schur_form(matrix_of<Complex>(f.r, i), matrix_of<Complex>(f.u, i));
    return found ? 0 : kNoConvergence;
  });
  if (!is_real) return f;
  f.r = widened(f.r, true);
  f.u = widened(f.u, true);
  visit_matrices(info, 6 * n * n * n, [&](std::int64_t i) {
    matrices::to_triangular(matrix_of<Complex>(f.r, i), matrix_of<Complex>(f.u, i));
    return 0;
  });
  return f;
}

Tensor product(const Nodes& nodes, const Tensor& a, const Tensor& b) {
  return nodes.run(Op::matmul, {a, b})[0];
}

void clear_failed(const Tensor& info, std::initializer_list<Tensor*> batches) {
  for (std::int64_t i = 0; i < info.numel(); ++i) {
    if (info.span<std::int32_t>()[static_cast<std::size_t>(i)] == 0) continue;
    for (Tensor* t : batches) {
      const MatrixRef<Complex> m = matrix_of<Complex>(*t, i);
      std::fill_n(m.data, m.rows * m.columns, Complex(0));
    }
  }
}

SolveResult sylvester_of(const Nodes& nodes, const Tensor& a, const Tensor& b, const Tensor& q) {
  require_square(nodes, a);
  require_square(nodes, b);
  require_same_batch(nodes, a, b);
  require_same_batch(nodes, a, q);
  if (q.sizes()[q.sizes().size() - 2] != a.sizes().back() || q.sizes().back() != b.sizes().back())
    nodes.refuse("Q must have the rows of A and the columns of B");
  Tensor info = info_of({&a, &b, &q});
  Tensor wide_a = widened(a, false), wide_b = widened(b, false), given = widened(q, true);
  const std::vector<int> exponents = exponents_of({&wide_a, &wide_b}), own = exponents_of({&given});
  scale_matrices(wide_a, exponents, -1);
  scale_matrices(wide_b, exponents, -1);
  scale_matrices(given, own, -1);
  Coefficient left = coefficient_of(wide_a, info), right = coefficient_of(wide_b, info);
  clear_failed(info, {&left.r, &left.u, &right.r, &right.u, &given});
  Tensor f = product(nodes, product(nodes, adjoint(left.u), given), right.u);
  const auto m = static_cast<double>(a.sizes().back()), n = static_cast<double>(b.sizes().back());
  visit_matrices(info, 4 * m * n * (m + n), [&](std::int64_t i) {
    const Tensor &r = left.r, &s = right.r;
    return matrices::solve_sylvester(matrix_of<Complex>(r, i), matrix_of<Complex>(s, i), matrix_of<Complex>(f, i))
               ? 0
               : kNoSolution;
  });
  clear_failed(info, {&f});
  Tensor x = product(nodes, product(nodes, left.u, f), adjoint(right.u));
  scale_matrices(x, own, 1);
  scale_matrices(x, exponents, -1);
  SolveResult result{narrowed(x, a.dtype()), info};
  seal(result.info, {&result.x});
  return result;
}

SolveResult lyapunov_of(const Nodes& nodes, const Tensor& a, const Tensor& q, bool discrete) {
  require_square(nodes, a);
  require_square(nodes, q);
  require_same_batch(nodes, a, q);
  if (q.sizes() != a.sizes()) nodes.refuse("A and Q must have equal sizes");
  Tensor info = info_of({&a, &q});
  Tensor wide = widened(a, false), given = widened(q, true);
  const std::vector<int> exponents = discrete ? std::vector<int>() : exponents_of({&wide}),
                         own = exponents_of({&given});
  scale_matrices(wide, exponents, -1);
  scale_matrices(given, own, -1);
  Coefficient c = coefficient_of(wide, info);
  clear_failed(info, {&c.r, &c.u, &given});
  const Tensor inverse = adjoint(c.u);
  Tensor f = product(nodes, product(nodes, inverse, given), c.u);
  const auto n = static_cast<double>(a.sizes().back());
  visit_matrices(info, 8 * n * n * n, [&](std::int64_t i) {
    const Tensor& r = c.r;
    const bool found = discrete ? matrices::solve_stein(matrix_of<Complex>(r, i), matrix_of<Complex>(f, i))
                                : matrices::solve_lyapunov(matrix_of<Complex>(r, i), matrix_of<Complex>(f, i));
    return found ? 0 : kNoSolution;
  });
  clear_failed(info, {&f});
  Tensor x = product(nodes, product(nodes, c.u, f), inverse);
  scale_matrices(x, own, 1);
  scale_matrices(x, exponents, -1);
  SolveResult result{narrowed(x, a.dtype()), info};
  seal(result.info, {&result.x});
  return result;
}

}  // namespace

Tensor sylvester(const Tensor& a, const Tensor& b, const Tensor& q, const Options& options) {
  const Nodes nodes("sylvester", options.threads);
  const SolveResult r = sylvester_of(nodes, a, b, q);
  nodes.require_solved(
      r.info, "has no unique solution within the range of its type: A and -B have a common eigenvalue, or nearly");
  return r.x;
}
SolveResult sylvester_ex(const Tensor& a, const Tensor& b, const Tensor& q, const Options& options) {
  return sylvester_of(Nodes("sylvester_ex", options.threads), a, b, q);
}

Tensor lyapunov(const Tensor& a, const Tensor& q, const LyapunovOptions& options) {
  const Nodes nodes("lyapunov", options.threads);
  const SolveResult r = lyapunov_of(nodes, a, q, options.discrete);
  nodes.require_solved(
      r.info,
      options.discrete
          ? "has no unique solution within the range of its type: the product of eigenvalues of A and A^H is 1, or "
            "nearly"
          : "has no unique solution within the range of its type: the sum of eigenvalues of A and A^H is 0, or nearly");
  return r.x;
}
SolveResult lyapunov_ex(const Tensor& a, const Tensor& q, const LyapunovOptions& options) {
  return lyapunov_of(Nodes("lyapunov_ex", options.threads), a, q, options.discrete);
}

}  // namespace tern::linalg
