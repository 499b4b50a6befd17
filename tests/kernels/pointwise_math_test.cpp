// Elementary functions of float, double and complex numbers against long double.
#include <cmath>
#include <complex>

#include "tests/kernels/pointwise_support.h"

namespace tern::test {
namespace {

using Wide = long double;
using WideComplex = std::complex<Wide>;

struct RealFunction {
  Scalar op;
  Wide (*reference)(Wide);
  double low, high;
};
constexpr Wide kLn2 = 0.693147180559945309417232121458176568L;
constexpr RealFunction kReals[] = {
    {Scalar::exp, [](Wide x) { return std::exp(x); }, -110, 90},
    {Scalar::exp2, [](Wide x) { return std::exp2(x); }, -155, 130},
    {Scalar::expm1, [](Wide x) { return std::expm1(x); }, -110, 90},
    {Scalar::log, [](Wide x) { return std::log(x); }, 1e-45, 3e38},
    {Scalar::log2, [](Wide x) { return std::log2(x); }, 1e-45, 3e38},
    {Scalar::log10, [](Wide x) { return std::log10(x); }, 1e-45, 3e38},
    {Scalar::log1p, [](Wide x) { return std::log1p(x); }, -0.999, 1e30},
    {Scalar::sin, [](Wide x) { return std::sin(x); }, -3000, 3000},
    {Scalar::cos, [](Wide x) { return std::cos(x); }, -3000, 3000},
    {Scalar::tan, [](Wide x) { return std::tan(x); }, -30, 30},
    {Scalar::asin, [](Wide x) { return std::asin(x); }, -1, 1},
    {Scalar::acos, [](Wide x) { return std::acos(x); }, -1, 1},
    {Scalar::atan, [](Wide x) { return std::atan(x); }, -1e4, 1e4},
    {Scalar::sinh, [](Wide x) { return std::sinh(x); }, -80, 80},
    {Scalar::cosh, [](Wide x) { return std::cosh(x); }, -80, 80},
    {Scalar::tanh, [](Wide x) { return std::tanh(x); }, -20, 20},
    {Scalar::asinh, [](Wide x) { return std::asinh(x); }, -1e4, 1e4},
    {Scalar::acosh, [](Wide x) { return std::acosh(x); }, 1, 1e4},
    {Scalar::atanh, [](Wide x) { return std::atanh(x); }, -0.999, 0.999},
    {Scalar::sigmoid, [](Wide x) { return 1 / (1 + std::exp(-x)); }, -80, 80},
    {Scalar::erf, [](Wide x) { return std::erf(x); }, -5, 5},
    {Scalar::erfc, [](Wide x) { return std::erfc(x); }, -5, 9},
    {Scalar::sqrt, [](Wide x) { return std::sqrt(x); }, 0, 1e30},
    {Scalar::rsqrt, [](Wide x) { return 1 / std::sqrt(x); }, 1e-30, 1e30},
    {Scalar::reciprocal, [](Wide x) { return 1 / x; }, -100, 100},
};

/// Arguments from low to high, dense near zero, where functions with f(0) = 0 are tested for relative error.
std::vector<double> sample_points(double low, double high, DType t) {
  std::vector<double> v;
  const int n = 4001;
  for (int i = 0; i <= n; ++i) {
    const double f = static_cast<double>(i) / n;
    for (double x : {low + f * (high - low), std::copysign(std::exp(-30 * f), low) * std::abs(low),
                     std::copysign(std::exp(-30 * f), high) * std::abs(high)}) {
      if (x < low || x > high || x == 0) continue;
      v.push_back(t == DType::f32 ? static_cast<double>(static_cast<float>(x)) : x);
    }
  }
  return v;
}

void check_reals(DType t, double relative, double tiny) {
  for (const RealFunction& f : kReals) {
    const std::vector<double> x = sample_points(f.low, f.high, t);
    const std::vector<Number> got = apply(f.op, t, {x});
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double want = static_cast<double>(f.reference(static_cast<Wide>(x[i])));
      const double y = got[i].real();
      if (t == DType::f32 && std::abs(want) > 3.4028235e38) {
        EXPECT_EQ(y, std::copysign(INFINITY, want)) << scalar_info(f.op).name << "(" << x[i] << ")";
      } else if (!(std::abs(y - want) <= relative * std::abs(want) + tiny)) {
        ADD_FAILURE() << scalar_info(f.op).name << "(" << x[i] << ") = " << y << ", not " << want;
        break;
      }
    }
  }
}

TEST(PointwiseMath, FloatsAreWithinAFewUnitsOfTheLastPlace) {
  check_reals(DType::f32, 3.5e-7, 2e-45);
}
TEST(PointwiseMath, DoublesAreWithinAFewUnitsOfTheLastPlace) {
  check_reals(DType::f64, 1e-15, 1e-320);
}

TEST(PointwiseMath, InfinitiesZerosAndNaN) {
  const double inf = INFINITY;
  const std::vector<double> x = {inf, -inf, 0.0, -0.0, static_cast<double>(NAN)};
  struct Case {
    Scalar op;
    double expected[4];
  };
  const Case cases[] = {
      {Scalar::exp, {inf, 0, 1, 1}},         {Scalar::exp2, {inf, 0, 1, 1}},     {Scalar::expm1, {inf, -1, 0, -0.0}},
      {Scalar::log, {inf, NAN, -inf, -inf}}, {Scalar::tanh, {1, -1, 0, -0.0}},   {Scalar::sigmoid, {1, 0, 0.5, 0.5}},
      {Scalar::erf, {1, -1, 0, -0.0}},       {Scalar::sin, {NAN, NAN, 0, -0.0}}, {Scalar::cos, {NAN, NAN, 1, 1}},
  };
  for (DType t : {DType::f32, DType::f64}) {
    for (const Case& c : cases) {
      const std::vector<Number> got = apply(c.op, t, {x});
      for (std::size_t i = 0; i < 4; ++i) {
        const double y = got[i].real();
        if (std::isnan(c.expected[i])) {
          EXPECT_TRUE(std::isnan(y)) << scalar_info(c.op).name << "(" << x[i] << ")";
        } else {
          EXPECT_EQ(y, c.expected[i]) << scalar_info(c.op).name << "(" << x[i] << ")";
          EXPECT_EQ(std::signbit(y), std::signbit(c.expected[i])) << scalar_info(c.op).name << "(" << x[i] << ")";
        }
      }
      EXPECT_TRUE(std::isnan(got[4].real())) << scalar_info(c.op).name;
    }
  }
}

struct Complex {
  Scalar op;
  WideComplex (*reference)(WideComplex);
};
constexpr Complex kComplexes[] = {
    {Scalar::exp, [](WideComplex z) { return std::exp(z); }},
    {Scalar::expm1, [](WideComplex z) { return std::exp(z) - Wide(1); }},
    {Scalar::log, [](WideComplex z) { return std::log(z); }},
    {Scalar::log2, [](WideComplex z) { return std::log(z) / kLn2; }},
    {Scalar::log1p, [](WideComplex z) { return std::log(Wide(1) + z); }},
    {Scalar::sqrt, [](WideComplex z) { return std::sqrt(z); }},
    {Scalar::rsqrt, [](WideComplex z) { return Wide(1) / std::sqrt(z); }},
    {Scalar::reciprocal, [](WideComplex z) { return Wide(1) / z; }},
    {Scalar::sin, [](WideComplex z) { return std::sin(z); }},
    {Scalar::tan, [](WideComplex z) { return std::tan(z); }},
    {Scalar::acos, [](WideComplex z) { return std::acos(z); }},
    {Scalar::tanh, [](WideComplex z) { return std::tanh(z); }},
    {Scalar::sigmoid, [](WideComplex z) { return Wide(1) / (Wide(1) + std::exp(-z)); }},
    {Scalar::neg, [](WideComplex z) { return -z; }},
    {Scalar::conj, [](WideComplex z) { return std::conj(z); }},
    {Scalar::sgn, [](WideComplex z) { return z / std::abs(z); }},
};

TEST(PointwiseMath, ComplexNumbers) {
  std::vector<Number> z;
  for (int i = -6; i <= 6; ++i) {
    for (int k = -6; k <= 6; ++k) z.push_back({i * 0.375 + 0.0625, k * 0.25 + 0.03125});
  }
  for (const Complex& f : kComplexes) {
    for (DType t : {DType::c64, DType::c128}) {
      NodeRun run(Op::pointwise);
      run.input(t, {static_cast<std::int64_t>(z.size())}, z);
      Code code;
      code.push(f.op, t, code.load(0, t));
      run.node().expr = code.expr;
      const std::vector<Number> got = run.run().output();
      const double tolerance = t == DType::c64 ? 2e-6 : 5e-15;
      for (std::size_t i = 0; i < z.size(); ++i) {
        const WideComplex w = f.reference(WideComplex(z[i]));
        const Number want(static_cast<double>(w.real()), static_cast<double>(w.imag()));
        EXPECT_LE(std::abs(got[i] - want), tolerance * std::max(1.0, std::abs(want)))
            << scalar_info(f.op).name << z[i] << " = " << got[i] << ", not " << want;
      }
    }
  }
}

}  // namespace
}  // namespace tern::test
