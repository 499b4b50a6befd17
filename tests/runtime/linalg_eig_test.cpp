// eig of real matrices up to the sizes of LAPACK: residuals, lengths, conjugate pairs; defective, graded, tiny and huge
// matrices.
#include <gtest/gtest.h>
#include <tern/linalg.h>

#include <cmath>
#include <complex>
#include <functional>
#include <limits>
#include <random>

namespace tern::linalg {
namespace {

using EigElement = std::function<double(std::size_t r, std::size_t c, std::size_t n)>;
struct EigClass {
  const char* name;
  EigElement element;
};

double random_number() {
  static std::mt19937 random(5);
  return std::normal_distribution<double>()(random);
}

const EigClass kEigClasses[] = {
    {"random", [](auto, auto, auto) { return random_number(); }},
    {"zero", [](auto, auto, auto) { return 0.0; }},
    {"identity", [](auto r, auto c, auto) { return r == c ? 1.0 : 0.0; }},
    {"upper triangle", [](auto r, auto c, auto) { return c >= r ? random_number() : 0.0; }},
    {"lower triangle", [](auto r, auto c, auto) { return c <= r ? random_number() : 0.0; }},
    {"defective", [](auto r, auto c, auto) { return r == c       ? 1.5
                                                    : r + 1 == c ? 1.0
                                                                 : 0.0; }},
    {"shifts", [](auto r, auto c, auto n) { return (r + 1) % n == c ? 1.0 : 0.0; }},
    {"companion", [](auto r, auto c, auto) { return r == 0       ? random_number()
                                                    : c + 1 == r ? 1.0
                                                                 : 0.0; }},
    {"badly scaled", [](auto r, auto c, auto) { return random_number() * std::ldexp(1.0, 7 * (int(r) - int(c))); }},
    {"graded", [](auto r, auto c, auto) { return random_number() * std::ldexp(1.0, -4 * (int(r) + int(c))); }},
    {"skew", [](auto r, auto c, auto) { return r == c  ? 0.0
                                               : r < c ? double(r + c)
                                                       : -double(r + c); }},
    {"rank one", [](auto r, auto c, auto) { return double(r + 1) * double(c + 1); }},
    {"nearly equal", [](auto r, auto c, auto) { return (r == c ? 1.0 : 0.0) + 1e-13 * random_number(); }},
    {"tiny", [](auto, auto, auto) { return std::ldexp(random_number(), -1000); }},
    {"subnormal", [](auto, auto, auto) { return std::ldexp(std::round(100 * random_number()), -1070); }},
    {"huge", [](auto, auto, auto) { return std::ldexp(random_number(), 1010); }},
};

/// Compares A V with V diag(values), all scaled to ordinary size.
void expect_eigenvectors(const EigClass& c, std::size_t n) {
  using C = std::complex<double>;
  Tensor a(DType::f64, {static_cast<std::int64_t>(n), static_cast<std::int64_t>(n)});
  double most = 0;
  for (std::size_t i = 0; i < n * n; ++i) {
    a.span<double>()[i] = c.element(i / n, i % n, n);
    most = std::max(most, std::abs(a.span<double>()[i]));
  }
  const int exponent = most == 0 ? 0 : -std::ilogb(most);
  const EigResult r = eig(a);
  const Tensor only_values = eigvals(a);
  const auto values = r.values.span<const C>(), vectors = r.vectors.span<const C>();
  // Eigenvalues of subnormal matrices have few digits.
  const double limit =
      20 * static_cast<double>(n) * std::numeric_limits<double>::epsilon() + std::ldexp(1, exponent - 1074);
  double trace = 0;
  C sum = 0, other_sum = 0;
  const auto scaled = [&](C x) { return C(std::ldexp(x.real(), exponent), std::ldexp(x.imag(), exponent)); };
  for (std::size_t k = 0; k < n; ++k) {
    trace += std::ldexp(a.span<double>()[k * (n + 1)], exponent);
    sum += scaled(values[k]);
    other_sum += scaled(only_values.span<const C>()[k]);
    double length = 0, residual = 0, largest = 0, least_imaginary = 1;
    for (std::size_t row = 0; row < n; ++row) {
      C product = 0;
      for (std::size_t j = 0; j < n; ++j)
        product += std::ldexp(a.span<double>()[row * n + j], exponent) * vectors[j * n + k];
      const C v = vectors[row * n + k];
      residual = std::max(residual, std::abs(product - scaled(values[k]) * v));
      length += std::norm(v);
      largest = std::max(largest, std::norm(v));
    }
    for (std::size_t row = 0; row < n; ++row) {  // several elements may be the largest but for rounding
      const C v = vectors[row * n + k];
      if (std::norm(v) > largest * (1 - 1e-9)) least_imaginary = std::min(least_imaginary, std::abs(v.imag()));
    }
    EXPECT_LT(residual, limit * static_cast<double>(n)) << c.name << ", " << n << " rows";
    EXPECT_NEAR(length, 1, 1e-14 * static_cast<double>(n)) << c.name << ", " << n << " rows";
    EXPECT_LT(least_imaginary, 1e-12) << c.name << ", " << n << " rows";
    if (values[k].imag() <= 0 || k + 1 == n) continue;
    EXPECT_EQ(values[k + 1], std::conj(values[k]));
    for (std::size_t row = 0; row < n; ++row) EXPECT_EQ(vectors[row * n + k + 1], std::conj(vectors[row * n + k]));
  }
  EXPECT_NEAR(sum.real(), trace, limit * static_cast<double>(n)) << c.name << ", " << n << " rows";
  EXPECT_NEAR(other_sum.real(), trace, limit * static_cast<double>(n)) << c.name << ", " << n << " rows";
}

TEST(LinalgEig, RealMatricesHaveTheirEigenvectors) {
  for (const EigClass& c : kEigClasses) {
    for (const std::size_t n : {5, 6, 7, 8, 11, 16, 20, 21, 32, 33, 50}) expect_eigenvectors(c, n);
  }
}

}  // namespace
}  // namespace tern::linalg
