// Schur form, square root and logarithm of tern/linalg.h.
#include <tern/linalg.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>
#include <utility>

#include "runtime/linalg/elements.h"
#include "runtime/linalg/nodes.h"
#include "runtime/linalg/wide.h"
#include "runtime/matrices/schur_form.h"
#include "runtime/matrices/triangular_functions.h"

namespace tern::linalg {
namespace {

using matrices::Complex;
using matrices::MatrixRef;

constexpr const char* kTooLarge = "has a Schur form beyond the range of its type";

/// Z T Z^H of each matrix in double precision; `t` holds A before.
struct WideSchur {
  Tensor t, z, info;
};

double schur_operations(std::int64_t n) {
  return 25.0 * static_cast<double>(n * n * n);
}

/// `wide`: float64 or complex128, in memory of its own.
WideSchur wide_schur(const Tensor& wide) {
  WideSchur s{wide, {}, info_of({&wide})};
  s.z = Tensor(s.t.dtype(), s.t.sizes());
  visit_matrices(s.info, schur_operations(wide.sizes().back()), [&](std::int64_t i) {
    const bool found = s.t.dtype() == DType::f64
                           ? matrices::to_schur_form(matrix_of<double>(s.t, i), matrix_of<double>(s.z, i))
                           : matrices::to_schur_form(matrix_of<Complex>(s.t, i), matrix_of<Complex>(s.z, i));
    return found ? 0 : kNoConvergence;
  });
  return s;
}

/// Divides each matrix of unusual size by an even power of two, and returns the exponents.
std::vector<int> scale_to_ordinary_size(Tensor& wide) {
  const std::int64_t n = wide.sizes().back();
  const std::int64_t count =
      std::accumulate(wide.sizes().begin(), wide.sizes().end() - 2, std::int64_t{1}, std::multiplies<>());
  std::vector<int> exponents(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    int& exponent = exponents[static_cast<std::size_t>(i)];
    const auto scale_matrix = [&](auto tag) {
      auto* const x = matrix_of<decltype(tag)>(wide, i).data;
      exponent = matrices::unusual(matrices::exponent_of(x, n * n)) / 2 * 2;
      matrices::scale_by_power(x, n * n, -exponent);
    };
    wide.dtype() == DType::f64 ? scale_matrix(double()) : scale_matrix(Complex());
  }
  return exponents;
}

SchurExResult schur_of(const Nodes& nodes, const Tensor& a, const SchurOptions& o) {
  require_square(nodes, a);
  const DType t = o.complex ? complex_type(a.dtype()) : a.dtype();
  Tensor wide = widened(a, false);
  const std::vector<int> exponents = scale_to_ordinary_size(wide);
  WideSchur s = wide_schur(wide);
  if (o.complex && s.t.dtype() == DType::f64) {
    s.t = widened(s.t, true);
    s.z = widened(s.z, true);
    visit_matrices(s.info, schur_operations(a.sizes().back()) / 4, [&](std::int64_t i) {
      matrices::to_triangular(matrix_of<Complex>(s.t, i), matrix_of<Complex>(s.z, i));
      return 0;
    });
  }
  scale_matrices(s.t, exponents, 1);
  SchurExResult r{narrowed(s.t, t), narrowed(s.z, t), s.info};
  seal(r.info, {&r.t, &r.z});
  return r;
}

template <class T>
bool is_hermitian(MatrixRef<const T> a) {
  for (std::int64_t r = 0; r < a.rows; ++r) {
    for (std::int64_t c = 0; c <= r; ++c) {
      if (a(r, c) != matrices::conjugate(a(c, r))) return false;
    }
  }
  return true;
}

/// Properties of the eigenvalues of a Schur form that decide about a function.
struct Spectrum {
  bool is_hermitian = false;
  bool has_negative = false;  ///< real eigenvalues below zero
};

/// Makes T of a hermitian matrix diagonal and real. With `may_be_singular`, its negative eigenvalues within rounding of
/// zero become zero.
template <class T>
Spectrum clean_schur_form(MatrixRef<T> t, bool hermitian, bool may_be_singular) {
  const std::int64_t n = t.rows;
  Spectrum found{hermitian, false};
  double most = 0;
  for (std::int64_t i = 0; i < n; ++i) most = std::max(most, matrices::size_of(t(i, i)));
  const double zero = static_cast<double>(n) * epsilon(DType::f64) * most;
  for (std::int64_t r = 0; r < n; ++r) {
    const bool is_pair = (r > 0 && t(r, r - 1) != T(0)) || (r + 1 < n && t(r + 1, r) != T(0));
    if (hermitian) {
      const double value = std::real(t(r, r));
      for (std::int64_t c = 0; c < n; ++c) t(r, c) = T(0);
      t(r, r) = may_be_singular && value < 0 && value >= -zero ? 0 : value;
    }
    if (!is_pair && std::real(t(r, r)) < 0 && std::imag(t(r, r)) == 0) found.has_negative = true;
  }
  return found;
}

using TriangularFunction = bool (*)(MatrixRef<Complex>);

/// f(A) = Z f(T) Z^H.
MatrixFunctionExResult function_of(const Nodes& nodes, const Tensor& a, const SchurOptions& o,
                                   TriangularFunction function) {
  require_square(nodes, a);
  const bool is_real = !has_complex_type(a), real_result = is_real && !o.complex;
  const bool is_root = function == &matrices::to_square_root;
  Tensor given = widened(a, false);
  const std::vector<int> exponents = scale_to_ordinary_size(given);
  WideSchur s = wide_schur(given.clone());
  visit_matrices(s.info, 1, [&](std::int64_t i) {
    const Spectrum found = is_real
                               ? clean_schur_form(matrix_of<double>(s.t, i),
                                                  is_hermitian(matrix_of<double>(std::as_const(given), i)), is_root)
                               : clean_schur_form(matrix_of<Complex>(s.t, i),
                                                  is_hermitian(matrix_of<Complex>(std::as_const(given), i)), is_root);
    return real_result && found.has_negative ? kNoSolution : 0;
  });
  if (is_real) {
    s.t = widened(s.t, true);
    s.z = widened(s.z, true);
  }
  visit_matrices(s.info, schur_operations(a.sizes().back()), [&](std::int64_t i) {
    const MatrixRef<Complex> t = matrix_of<Complex>(s.t, i);
    const int exponent = exponents[static_cast<std::size_t>(i)];
    if (is_real) matrices::to_triangular(t, matrix_of<Complex>(s.z, i));
    if (!function(t)) return kNoSolution;
    if (is_root) {
      matrices::scale_by_power(t.data, t.rows * t.rows, exponent / 2);
    } else {
      for (std::int64_t k = 0; k < t.rows; ++k) t(k, k) += exponent * std::numbers::ln2;
    }
    return 0;
  });
  for (std::int64_t i = 0; i < s.info.numel(); ++i) {  // zeros for products
    if (s.info.span<std::int32_t>()[static_cast<std::size_t>(i)] == 0) continue;
    const MatrixRef<Complex> t = matrix_of<Complex>(s.t, i), z = matrix_of<Complex>(s.z, i);
    std::fill_n(t.data, t.rows * t.rows, Complex(0));
    std::fill_n(z.data, z.rows * z.rows, Complex(0));
  }
  const Tensor half = nodes.run(Op::matmul, {s.z, s.t})[0];
  const Tensor product = nodes.run(Op::matmul, {half, adjoint(s.z)})[0];
  MatrixFunctionExResult r{narrowed(product, real_result ? a.dtype() : complex_type(a.dtype())), s.info};
  seal(r.info, {&r.result});
  return r;
}

MatrixFunctionExResult sqrt_of(const char* function, const Tensor& a, const SchurOptions& o) {
  return function_of(Nodes(function, o.threads), a, o, &matrices::to_square_root);
}
MatrixFunctionExResult log_of(const char* function, const Tensor& a, const SchurOptions& o) {
  return function_of(Nodes(function, o.threads), a, o, &matrices::to_logarithm);
}

}  // namespace

SchurResult schur(const Tensor& a, const SchurOptions& options) {
  const Nodes nodes("schur", options.threads);
  const SchurExResult r = schur_of(nodes, a, options);
  nodes.require_solved(r.info, kTooLarge);
  return {r.t, r.z};
}
SchurExResult schur_ex(const Tensor& a, const SchurOptions& options) {
  return schur_of(Nodes("schur_ex", options.threads), a, options);
}

Tensor matrix_sqrt(const Tensor& a, const SchurOptions& options) {
  const MatrixFunctionExResult r = sqrt_of("matrix_sqrt", a, options);
  Nodes("matrix_sqrt", options.threads)
      .require_solved(r.info, "has no square root of this type: pass `complex` for negative eigenvalues");
  return r.result;
}
MatrixFunctionExResult matrix_sqrt_ex(const Tensor& a, const SchurOptions& options) {
  return sqrt_of("matrix_sqrt_ex", a, options);
}

Tensor matrix_log(const Tensor& a, const SchurOptions& options) {
  const MatrixFunctionExResult r = log_of("matrix_log", a, options);
  Nodes("matrix_log", options.threads)
      .require_solved(r.info, "is singular, or has no logarithm of this type: pass `complex` for negative eigenvalues");
  return r.result;
}
MatrixFunctionExResult matrix_log_ex(const Tensor& a, const SchurOptions& options) {
  return log_of("matrix_log_ex", a, options);
}

}  // namespace tern::linalg
