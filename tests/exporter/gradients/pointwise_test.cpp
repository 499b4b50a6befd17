// Derivatives of the scalar operations, and PyTorch's values where a function has none.
#include "schema/pointwise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/exporter/gradients/check.h"

namespace tern {
namespace {

using testing::doubles;
using testing::expect_gradients;
using testing::gradients_of;
using testing::noise;
using Values = std::vector<ValueId>;

struct Formula {
  std::string text;  ///< an expression of x and, optionally, y
  double low = -1, high = 1;
  double tolerance = 1e-6;
};

// clang-format off
const Formula kReal[] = {
    {"x + 2 * y"}, {"x - y"}, {"x * y"}, {"x / y", 0.5, 2}, {"fma(x, y, x)"}, {"-x"}, {"abs(x)"}, {"reciprocal(x)", 0.5, 2},
    {"pow(x, y)", 0.2, 3}, {"pow(x, 3)"}, {"pow(2, x)"}, {"hypot(x, y)"}, {"atan2(x, y)"}, {"remainder(x, y)", 2.1, 2.9},
    {"fmod(x, y)", 2.1, 2.9}, {"copysign(x, y)"}, {"min(x, y)"}, {"max(x, y)"}, {"fmin(x, y)"}, {"fmax(x, y)"},
    {"x > 0.1 ? x * x : sin(x)"}, {"floor(x) + ceil(x) + trunc(x) + round(x) + sign(x) + x", 0.1, 0.4},
    {"sqrt(x)", 0.1, 4}, {"rsqrt(x)", 0.1, 4}, {"exp(x)"}, {"exp2(x)"}, {"expm1(x)"}, {"log(x)", 0.1, 4}, {"log2(x)", 0.1, 4},
    {"log10(x)", 0.1, 4}, {"log1p(x)", -0.5, 4}, {"sin(x)"}, {"cos(x)"}, {"tan(x)"}, {"asin(x)", -0.9, 0.9},
    {"acos(x)", -0.9, 0.9}, {"atan(x)"}, {"sinh(x)"}, {"cosh(x)"}, {"tanh(x)"}, {"asinh(x)"}, {"acosh(x)", 1.1, 4},
    {"atanh(x)", -0.9, 0.9}, {"sigmoid(x)"}, {"erf(x)"}, {"erfc(x)"}, {"erfinv(x)", -0.9, 0.9}, {"erfcx(x)"},
    {"lgamma(x)", 0.5, 4}, {"digamma(x)", 0.5, 4}, {"polygamma(1, x)", 0.5, 4}, {"polygamma(3, x)", 0.5, 4, 1e-5},
    {"zeta(2.5, x)", 0.5, 4}, {"igamma(1.5, x)", 0.5, 4}, {"igammac(1.5, x)", 0.5, 4}, {"i0(x)"}, {"i0e(x)"}, {"i1(x)"},
    {"i1e(x)"}, {"ndtri(x)", 0.1, 0.9}, {"log_ndtr(x)", -4, 2}, {"bessel_j0(x)", 0.1, 4}, {"bessel_j1(x)", 0.1, 4},
    {"bessel_y0(x)", 0.5, 4}, {"bessel_y1(x)", 0.5, 4}, {"modified_bessel_k0(x)", 0.5, 4}, {"modified_bessel_k1(x)", 0.5, 4},
    {"scaled_modified_bessel_k0(x)", 0.5, 4}, {"scaled_modified_bessel_k1(x)", 0.5, 4}, {"spherical_bessel_j0(x)", 0.1, 4},
    {"frexp_mantissa(x)", 0.55, 0.95}, {"log1p(exp(x))"}, {"x / (1 + exp(-x))"}, {"x * tanh(log1p(exp(y)))"},
    {"t = tanh(x * y); t * t + t * exp(t)"}, {"abs(complex(x, y))"}, {"angle(complex(x, y))"},
    {"real(complex(x, y) * complex(y, x) * conj(complex(x, x)))"},
};
const Formula kComplex[] = {
    {"x + 2 * y"}, {"x * y"}, {"x / y"}, {"x * conj(y)"}, {"exp(x)"}, {"log(x)"}, {"sqrt(x)"}, {"rsqrt(x)"}, {"sin(x)"},
    {"cos(x)"}, {"tan(x)"}, {"tanh(x)"}, {"sinh(x)"}, {"cosh(x)"}, {"atan(x)"}, {"asinh(x)"}, {"acosh(x)"}, {"reciprocal(x)"},
    {"pow(x, y)"}, {"sigmoid(x)"}, {"sgn(x)"}, {"x * abs(y)"}, {"x * angle(y)"}, {"x * real(x) + y * imag(x)"},
    {"sgn(x * y) * conj(x)"}, {"real(x) > 0 ? x * x : conj(x)"},
};
const Formula kRealOfComplex[] = {
    {"abs(x)"}, {"angle(x)"}, {"real(x) * imag(y)"}, {"real(x * y)"}, {"abs(x * conj(y) + exp(x))"}, {"imag(log(x))"},
};
// clang-format on

bool names_y(const std::string& text) {
  return text.find('y') != std::string::npos && text.find("igamma") != 0 && text.find("poly") != 0;
}

void check(const Formula& f, DType in, DType out) {
  SCOPED_TRACE(f.text);
  std::vector<Tensor> inputs = {noise({3, 4}, 1, f.low, f.high, in)};
  if (names_y(f.text)) inputs.push_back(noise({4}, 2, f.low, f.high, in));
  expect_gradients(
      inputs,
      [&](Builder& b, const Values& v) -> Values {
        std::vector<ExprArg> args = {{"x", v[0]}};
        if (v.size() > 1) args.emplace_back("y", v[1]);
        const bool complex = f.text.find("complex(") != std::string::npos;
        return {b.expr(f.text, args, complex ? DType::c128 : in, out)};
      },
      f.tolerance);
}

TEST(PointwiseGradients, OfRealNumbers) {
  for (const Formula& f : kReal) check(f, DType::f64, DType::f64);
}

TEST(PointwiseGradients, OfComplexNumbers) {
  for (const Formula& f : kComplex) check(f, DType::c128, DType::c128);
  for (const Formula& f : kRealOfComplex) check(f, DType::c128, DType::f64);
}

/// The slope of a formula at x, with PyTorch's operator `op` as its origin.
double slope(const std::string& text, double x, const std::string& op = {}, double y = 0) {
  const auto g = gradients_of({doubles({1}, {x}), doubles({1}, {y})}, [&](Builder& b, const Values& v) -> Values {
    b.program().origins.push_back({op, {}, {}});
    b.set_origin(op.empty() ? -1 : 0);
    return {b.expr(text, {{"x", v[0]}, {"y", v[1]}}, DType::f64)};
  });
  return g[0][0];
}

// Results of torch.autograd, torch 2.12.
TEST(PointwiseGradients, WhereThereIsNoDerivative) {
  EXPECT_EQ(slope("abs(x)", 0), 0);
  EXPECT_EQ(slope("max(x, 0)", 0, "aten.relu.default"), 0);
  EXPECT_EQ(slope("min(max(x, 0), 6)", 6, "aten.hardtanh.default"), 0);
  EXPECT_EQ(slope("min(max(x, 0), 6)", 6, "aten.clamp.default"), 1);
  EXPECT_EQ(slope("min(max(x, 0), 6)", 0, "aten.clamp.default"), 1);
  EXPECT_EQ(slope("max(x, y)", 2, "aten.maximum.default", 2), 0.5);
  EXPECT_EQ(slope("max(x, y)", 2, "aten.clamp_min.Tensor", 2), 1);
  EXPECT_EQ(slope("fmax(x, y)", 2, "aten.fmax.default", 2), 1);
  EXPECT_EQ(slope("fmax(x, y)", 2, "aten.fmax.default", std::nan("")), 1);
  EXPECT_EQ(slope("max(x, 0)", std::nan(""), "aten.relu.default"), 1);
  EXPECT_EQ(slope("min(x, 0) - log1p(exp(-abs(x)))", 0, "aten.binary_cross_entropy_with_logits.default"), 0.5);
  EXPECT_EQ(slope("max(x - 1, 0)", 1, "aten.margin_ranking_loss.default"), 1);
  EXPECT_EQ(slope("max(1 - x, 0)", 1, "aten.hinge_embedding_loss.default"), -1);
  EXPECT_EQ(slope("min(x, 1)", 1, "aten._foreach_clamp_max.Scalar"), 1);
  EXPECT_EQ(slope("max(x, 1)", 1, "aten._foreach_maximum.Scalar"), 0.5);
  EXPECT_EQ(slope("max(x, y)", 1, "aten._foreach_maximum.List", 1), 0.5);
  EXPECT_EQ(slope("sqrt(x)", 0, "aten._foreach_norm.Scalar"), 0);
  for (const char* op : {"aten.clamp.default", "aten.clamp.Tensor", "aten.clamp_min.default"}) {
    EXPECT_EQ(slope("max(x, 0)", std::nan(""), op), 0) << op;
    EXPECT_EQ(slope("max(x, y)", std::nan(""), op), 0) << op;
    EXPECT_EQ(slope("max(y, x)", std::nan(""), op), 0) << op;
  }
  EXPECT_EQ(slope("isnan(2) ? nan : x == 0 ? 0 : x * log(2)", 0, "aten.xlogy.Scalar_Other"), std::log(2.0));
  EXPECT_DOUBLE_EQ(slope("isnan(2) ? nan : x == 0 ? 0 : x * log1p(2)", 0, "aten.special_xlog1py.other_scalar"),
                   std::log(3.0));
  EXPECT_EQ(slope("isnan(x) ? nan : 3 == 0 ? 0 : 3 * log(x)", 2, "aten.xlogy.Scalar_Self"), 1.5);
  const std::string bce = "((y - 1) * max(log1p(-x), -100) - y * max(log(x), -100)) * 2";
  EXPECT_EQ(slope(bce, 0, "aten.binary_cross_entropy.default", 1), -2e12);
  EXPECT_EQ(slope(bce, 1, "aten.binary_cross_entropy.default", 0), 2e12);
  EXPECT_EQ(slope(bce, 0.5, "aten.binary_cross_entropy.default", 0), 4);
  EXPECT_EQ(slope("sqrt(x)", 0), std::numeric_limits<double>::infinity());
  EXPECT_EQ(slope("sqrt(x)", 0, "aten.linalg_vector_norm.default"), 0);
  EXPECT_EQ(slope("pow(x, y)", 0, {}, 0), 0);
  EXPECT_EQ(slope("isnan(y) ? nan : x == 0 ? 0 : x * log(y)", 0, "aten.xlogy.Tensor", 2), std::log(2.0));
}

/// Narrow types are computed wide and rounded once; a sum over broadcast axes is rounded afterwards.
TEST(PointwiseGradients, OfNarrowNumbers) {
  for (DType t : {DType::f16, DType::bf16}) {
    const auto g =
        gradients_of({noise({64, 2}, 1, 1, 2), noise({2}, 2, 1, 2)}, [&](Builder& b, const Values& v) -> Values {
          const ValueId x = b.cast(v[0], t), y = b.cast(v[1], t);
          return {b.cast(b.expr("x * x * y", {{"x", x}, {"y", y}}, t), DType::f64)};
        });
    const auto wide =
        gradients_of({noise({64, 2}, 1, 1, 2), noise({2}, 2, 1, 2)}, [&](Builder& b, const Values& v) -> Values {
          return {b.expr("x * x * y", {{"x", v[0]}, {"y", v[1]}}, DType::f64)};
        });
    const double unit = t == DType::f16 ? 0x1p-10 : 0x1p-7;
    for (std::size_t i = 0; i < g.size(); ++i) {
      for (std::size_t k = 0; k < g[i].size(); ++k)
        EXPECT_NEAR(g[i][k], wide[i][k], 8 * unit * (1 + std::abs(wide[i][k])));
    }
  }
}

/// An unselected branch or an overflowing exponential makes no NaN.
TEST(PointwiseGradients, NoNanBesideWhatWasChosen) {
  EXPECT_EQ(slope("x > 20 ? x : log1p(exp(x))", 1000), 1);
  EXPECT_EQ(slope("log1p(exp(x))", 1000), 1);
  EXPECT_EQ(slope("x / (1 + exp(-x))", -1000), 0);
  EXPECT_EQ(slope("x * tanh(log1p(exp(x)))", 1000), 1);
  EXPECT_EQ(slope("x > 0 ? x : sqrt(x)", 1), 1);
  EXPECT_EQ(slope("x == 0 ? 1 : sin(x) / x", 0), 0);
}

}  // namespace
}  // namespace tern
