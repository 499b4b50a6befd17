// Gradients of factorizations, solvers, spectra and Fourier transforms.
#include "exporter/lower/linalg.h"

#include <gtest/gtest.h>

#include "tests/exporter/gradients/check.h"

namespace tern {
namespace {

using testing::expect_gradients;
using testing::noise;
using Values = std::vector<ValueId>;

constexpr DType kLinalgTypes[] = {DType::f64, DType::c128};

/// x with 3 added to the diagonal: far from singular.
ValueId regular(Builder& b, ValueId x) {
  return b.expr("x + 3 * o", {{"x", x}, {"o", identity(b, b.size(x, -1), b.dtype(x))}}, b.dtype(x));
}
/// x x^H + 1: positive definite, and hermitian whatever changes in x.
ValueId positive(Builder& b, ValueId x) {
  const ValueId square = b.matmul(x, adjoint(b, x));
  return b.expr("x + o", {{"x", square}, {"o", identity(b, b.size(x, -1), b.dtype(x))}}, b.dtype(x));
}
/// x plus 2, 4, ... on the diagonal: the eigenvalues lie apart.
ValueId spread(Builder& b, ValueId x) {
  const Dim n = b.size(x, -2);
  const ValueId scale = b.reshape(b.iota(n, DType::f64, 1), {n, 1});
  return b.expr("x + s * o * 2", {{"x", x}, {"s", scale}, {"o", identity(b, n, b.dtype(x))}}, b.dtype(x));
}

TEST(LinalgGradients, Cholesky) {
  for (const DType t : kLinalgTypes) {
    for (const bool upper : {false, true}) {
      expect_gradients({noise({2, 3, 3}, 1, -1, 1, t)}, [=](Builder& b, const Values& in) {
        return Values{b.add(Op::cholesky, {positive(b, in[0])}, {attr(AttrKey::upper, Dim(upper))})};
      });
    }
  }
}

TEST(LinalgGradients, LuFactorsOfEveryShape) {
  for (const DType t : kLinalgTypes) {
    for (const auto& [m, n] : {std::pair{3, 3}, {4, 2}, {2, 4}}) {
      expect_gradients({noise({2, m, n}, 1, -1, 1, t)},
                       [](Builder& b, const Values& in) { return Values{lu_factor(b, in[0], false)[0]}; });
    }
  }
}

TEST(LinalgGradients, LuSolveInEveryForm) {
  for (const DType t : kLinalgTypes) {
    for (const TransposeKind op : {TransposeKind::none, TransposeKind::transpose, TransposeKind::adjoint}) {
      for (const bool left : {true, false}) {
        const Tensor rhs = left ? noise({2, 3, 2}, 2, -1, 1, t) : noise({2, 2, 3}, 2, -1, 1, t);
        expect_gradients({noise({1, 3, 3}, 1, -1, 1, t), rhs}, [=](Builder& b, const Values& in) {
          const Values f = lu_factor(b, regular(b, in[0]), false);
          return Values{lu_solve(b, f[0], f[1], in[1], left, op)};
        });
      }
    }
  }
}

TEST(LinalgGradients, TriangularSolveInEveryForm) {
  for (const DType t : kLinalgTypes) {
    for (const TransposeKind op : {TransposeKind::none, TransposeKind::transpose, TransposeKind::adjoint}) {
      for (int form = 0; form < 8; ++form) {
        const Triangle triangle{.upper = (form & 1) != 0, .left = (form & 2) != 0, .unit = (form & 4) != 0, .op = op};
        const Tensor rhs = triangle.left ? noise({2, 3, 2}, 2, -1, 1, t) : noise({2, 2, 3}, 2, -1, 1, t);
        expect_gradients({noise({3, 3}, 1, -1, 1, t), rhs}, [=](Builder& b, const Values& in) {
          return Values{triangular_solve(b, regular(b, in[0]), in[1], triangle)};
        });
      }
    }
  }
}

TEST(LinalgGradients, Qr) {
  for (const DType t : kLinalgTypes) {
    for (const auto& [m, n, mode] :
         {std::tuple{4, 2, QrKind::reduced}, {3, 3, QrKind::complete}, {2, 4, QrKind::reduced}, {4, 3, QrKind::r}}) {
      expect_gradients({noise({2, m, n}, 1, -1, 1, t)}, [mode = mode](Builder& b, const Values& in) {
        const Values r = b.add_all(Op::qr, in, {attr(AttrKey::mode, Dim(static_cast<int>(mode)))});
        return mode == QrKind::r ? Values{r[1]} : r;
      });
    }
  }
}

TEST(LinalgGradients, ProductsOfReflections) {
  for (const DType t : kLinalgTypes) {
    expect_gradients({noise({2, 4, 3}, 1, -1, 1, t), noise({2, 2}, 2, -1, 1, t)}, [](Builder& b, const Values& in) {
      return Values{b.add(Op::householder, in, {attr(AttrKey::kind, Dim(0))})};
    });
    for (const TransposeKind op : {TransposeKind::none, TransposeKind::adjoint}) {
      for (const bool left : {true, false}) {
        const Tensor c = left ? noise({2, 4, 3}, 3, -1, 1, t) : noise({2, 3, 4}, 3, -1, 1, t);
        expect_gradients({noise({2, 4, 3}, 1, -1, 1, t), noise({2, 3}, 2, -1, 1, t), c},
                         [=](Builder& b, const Values& in) {
                           return Values{b.add(Op::householder, in,
                                               {attr(AttrKey::kind, Dim(1)), attr(AttrKey::left, Dim(left)),
                                                attr(AttrKey::transpose, Dim(static_cast<int>(op)))})};
                         });
      }
    }
  }
}

TEST(LinalgGradients, LeastSquares) {
  for (const DType t : kLinalgTypes) {
    for (const auto& [m, n] : {std::pair{4, 2}, {2, 4}, {3, 3}}) {
      expect_gradients(
          {noise({2, m, n}, 1, -1, 1, t), noise({2, m, 2}, 2, -1, 1, t)}, [](Builder& b, const Values& in) {
            const Values r = b.add_all(Op::lstsq, in, {attr(AttrKey::mode, Dim(static_cast<int>(LstsqKind::gelsd)))});
            return Values{r[0], r[1]};
          });
    }
  }
}

// Eigenvectors are determined up to a factor of magnitude 1: the losses use |v|^2 and products independent of the
// factor.

TEST(LinalgGradients, HermitianEigenvalues) {
  for (const DType t : kLinalgTypes) {
    expect_gradients({noise({2, 3, 3}, 1, -1, 1, t), noise({3, 3}, 2, -1, 1, t)}, [](Builder& b, const Values& in) {
      const ValueId sum =
          b.expr("x + y", {{"x", spread(b, in[0])}, {"y", adjoint(b, spread(b, in[0]))}}, b.dtype(in[0]));
      const Values r = eigh(b, sum, false);
      // A function of the matrix: V f(w) V^H.
      const ValueId scaled = b.expr("v * sin(w)", {{"v", r[1]}, {"w", b.unsqueeze(r[0], -2)}}, b.dtype(r[1]));
      return Values{r[0], b.matmul(b.matmul(scaled, adjoint(b, r[1])), in[1])};
    });
  }
}

TEST(LinalgGradients, Eigenvalues) {
  for (const DType t : kLinalgTypes) {
    expect_gradients({noise({2, 3, 3}, 1, -1, 1, t)}, [](Builder& b, const Values& in) {
      const Values r = b.add_all(Op::eig, {spread(b, in[0])});
      const DType wide = b.dtype(r[1]);
      return Values{r[0], b.expr("abs(v) * abs(v)", {{"v", r[1]}}, wide, DType::f64)};
    });
  }
}

TEST(LinalgGradients, SingularValues) {
  for (const DType t : kLinalgTypes) {
    for (const auto& [m, n] : {std::pair{3, 3}, {4, 2}, {2, 4}}) {
      for (const bool full : {false, true}) {
        expect_gradients({noise({2, m, n}, 1, -1, 1, t)}, [=, k = std::min(m, n)](Builder& b, const Values& in) {
          const Values r = svd(b, in[0], full);
          const ValueId u = b.slice(r[0], -1, 0, k), vh = b.slice(r[2], -2, 0, k);
          const ValueId scaled = b.expr("u * exp(s)", {{"u", u}, {"s", b.unsqueeze(r[1], -2)}}, b.dtype(u));
          const auto size = [&](ValueId v) { return b.expr("abs(v) * abs(v)", {{"v", v}}, b.dtype(v), DType::f64); };
          return Values{r[1], b.matmul(scaled, vh), size(u), size(vh)};
        });
      }
    }
  }
}

TEST(LinalgGradients, MatrixExponential) {
  for (const DType t : kLinalgTypes) {
    expect_gradients({noise({2, 3, 3}, 1, -1, 1, t)},
                     [](Builder& b, const Values& in) { return Values{b.add(Op::matrix_exp, in)}; });
  }
}

TEST(LinalgGradients, FourierTransforms) {
  for (const bool forward : {true, false}) {
    for (const FftNorm norm : {FftNorm::none, FftNorm::root_n, FftNorm::n}) {
      const auto transform = [=](FftKind kind, std::vector<std::int64_t> axes, std::int64_t length) {
        return [=](Builder& b, const Values& in) {
          std::vector<Attr> attrs = {attr(AttrKey::kind, Dim(static_cast<int>(kind))), attr(AttrKey::axes, axes),
                                     attr(AttrKey::forward, Dim(forward)),
                                     attr(AttrKey::norm, Dim(static_cast<int>(norm)))};
          if (length > 0) attrs.push_back(attr(AttrKey::length, Dim(length)));
          return Values{b.add(Op::fft, in, attrs)};
        };
      };
      expect_gradients({noise({3, 4}, 1, -1, 1, DType::c128)}, transform(FftKind::complex_to_complex, {1, 0}, 0));
      for (const std::int64_t length : {5, 6}) {
        expect_gradients({noise({2, length, 3})}, transform(FftKind::real_to_complex, {2, 1}, 0));
        expect_gradients({noise({3, length / 2 + 1}, 1, -1, 1, DType::c128)},
                         transform(FftKind::complex_to_real, {0, 1}, length));
      }
    }
  }
}

}  // namespace
}  // namespace tern
