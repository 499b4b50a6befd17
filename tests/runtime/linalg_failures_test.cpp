// Singular and subnormal matrices on every path: loops with a matrix in each lane, LAPACK, definitions.
#include <gtest/gtest.h>
#include <tern/error.h>
#include <tern/linalg.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numeric>

#include "runtime/prepared.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using testing::TestProgram;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct FailureCase {
  Op op;
  double bad;  ///< factor of the unsolvable matrices
  const char* reason;
  std::size_t operand = 0;
};
constexpr FailureCase kFailureCases[] = {{Op::eigh, kNaN, "has NaN or infinities"},
                                         {Op::eig, kNaN, "has NaN or infinities"},
                                         {Op::svd, kNaN, "has NaN or infinities"},
                                         {Op::lstsq, kNaN, "has NaN or infinities"},
                                         {Op::lstsq, kNaN, "has a right-hand side with NaN or infinities", 1},
                                         {Op::cholesky, -1, "is not positive definite"},
                                         {Op::lu_factor, 0, "is singular"},
                                         {Op::ldl_factor, 0, "is singular"}};

void set(Tensor& t, std::size_t i, double value) {
  t.dtype() == DType::f64 ? t.span<double>()[i] = value : t.span<float>()[i] = static_cast<float>(value);
}

/// Identity matrices; the matrices listed in `bad` are multiplied by the factor.
Tensor units(DType type, std::size_t count, std::size_t n, double factor, std::initializer_list<std::size_t> bad) {
  Tensor t(type, {static_cast<std::int64_t>(count), static_cast<std::int64_t>(n), static_cast<std::int64_t>(n)});
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_bad = std::ranges::find(bad, i) != bad.end();
    for (std::size_t r = 0; r < n; ++r) set(t, (i * n + r) * n + r, is_bad ? factor : 1);
  }
  return t;
}

std::string message_of_linalg_failures(const FailureCase& c, DType type, std::size_t count, std::size_t n,
                                       bool defined) {
  TestProgram p;
  const Dims sizes = {Dim(static_cast<std::int64_t>(count)), Dim(static_cast<std::int64_t>(n)),
                      Dim(static_cast<std::int64_t>(n))};
  std::vector<ValueId> operands = {p.input(type, sizes)};
  std::vector<Tensor> inputs = {
      units(type, count, n, c.operand == 0 ? c.bad : 1, {std::min<std::size_t>(1, count - 1), count - 1})};
  std::vector<Attr> attrs;
  if (c.op == Op::lstsq) {
    operands.push_back(p.input(type, sizes));
    inputs.push_back(
        units(type, count, n, c.operand == 1 ? c.bad : 1, {std::min<std::size_t>(1, count - 1), count - 1}));
    attrs = {attr(AttrKey::mode, Dim(1)), attr_number(AttrKey::epsilon, 1e-6)};
  } else if (c.bad == c.bad) {
    attrs = {attr(AttrKey::check, Dim(1))};
  }
  p.output(p.b().add_all(c.op, operands, attrs)[0]);
  PrepareOptions options;
  options.reproducible = defined;
  Session session(PreparedModel(prepare_program(p.model().program(), options, {})));
  try {
    session.run(inputs);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(LinalgFailures, AllPathsNameTheFirstMatrixWithOneMessage) {
  for (const FailureCase& c : kFailureCases) {
    for (const std::size_t n : {1, 2, 4, 5, 16, 17, 65}) {
      for (const std::size_t count : {1, 3, 50}) {
        for (const DType type : {DType::f32, DType::f64}) {
          const std::string expected = (count == 1 ? "the matrix " : "matrix 1 of the batch ") + std::string(c.reason);
          for (const bool defined : {false, true}) {
            const std::string found = message_of_linalg_failures(c, type, count, n, defined);
            EXPECT_NE(found.find(expected), std::string::npos)
                << found << "; expected " << expected << ", " << n << " rows, " << count << " matrices, " << defined;
          }
        }
      }
    }
  }
}

/// Symmetric matrices of small integers times 2^exponent.
Tensor symmetric(DType type, std::size_t count, std::size_t n, int exponent) {
  Tensor t(type, {static_cast<std::int64_t>(count), static_cast<std::int64_t>(n), static_cast<std::int64_t>(n)});
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t r = 0; r < n; ++r) {
      for (std::size_t c = 0; c < n; ++c) {
        const std::size_t low = std::min(r, c), high = std::max(r, c);
        const double v = static_cast<double>((7 * low + 3 * high * high + 5 * i) % 17) - 8;
        set(t, (i * n + r) * n + c, std::ldexp(v, exponent));
      }
    }
  }
  return t;
}
std::vector<double> numbers(const Tensor& t, int exponent) {
  std::vector<double> v(static_cast<std::size_t>(t.numel()));
  for (std::size_t i = 0; i < v.size(); ++i)
    v[i] = std::ldexp(
        t.dtype() == DType::f64 ? t.span<const double>()[i] : static_cast<double>(t.span<const float>()[i]), exponent);
  return v;
}
double most_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double most = a.size() == b.size() ? 0 : std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    most = std::isfinite(a[i]) ? std::max(most, std::abs(a[i] - b[i])) : std::numeric_limits<double>::infinity();
  return most;
}

/// The largest element of Q^T Q - 1.
double orthogonality(const Tensor& q) {
  const std::vector<double> x = numbers(q, 0);
  const auto n = static_cast<std::size_t>(q.sizes().back());
  double most = 0;
  for (std::size_t first = 0; first < x.size(); first += n * n) {
    for (std::size_t c = 0; c < n; ++c) {
      for (std::size_t d = 0; d < n; ++d) {
        double sum = c == d ? -1 : 0;
        for (std::size_t r = 0; r < n; ++r) sum += x[first + r * n + c] * x[first + r * n + d];
        most = std::isfinite(sum) ? std::max(most, std::abs(sum)) : std::numeric_limits<double>::infinity();
      }
    }
  }
  return most;
}

/// Results for the scaled matrices equal the scaled results of the plain matrices.
TEST(LinalgFailures, SubnormalMatricesHaveTheirValues) {
  for (const DType type : {DType::f32, DType::f64}) {
    const int exponent = type == DType::f64 ? -1050 : -140;  // 24 and 9 bits above the smallest number
    for (const std::size_t n : {1, 2, 3, 4, 5, 9, 17, 33, 65}) {
      const double limit = (type == DType::f64 ? 1e-6 : 0.02) * static_cast<double>(n);
      for (const std::size_t count : {1, 2, 4, 8, 16, 40}) {
        const std::string at = std::to_string(n) + " rows, " + std::to_string(count) + " matrices";
        const Tensor small = symmetric(type, count, n, exponent), plain = symmetric(type, count, n, 0);
        const auto same = [&](const Tensor& found, const Tensor& expected) {
          return most_difference(numbers(found, -exponent), numbers(expected, 0));
        };
        EXPECT_LT(same(linalg::eigvalsh(small), linalg::eigvalsh(plain)), limit) << "eigvalsh, " << at;
        EXPECT_LT(same(linalg::svdvals(small), linalg::svdvals(plain)), limit) << "svdvals, " << at;
        EXPECT_LT(orthogonality(linalg::qr(small).q), type == DType::f64 ? 1e-12 : 1e-4) << "q, " << at;
      }
    }
  }
}

template <class T>
class LinalgTinyTest : public ::testing::Test {};
using TinyTypes = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(LinalgTinyTest, TinyTypes);

template <class T>
struct TinyTraits;
template <>
struct TinyTraits<float> {
  static constexpr DType kType = DType::f32;
  static constexpr int kExponent = -141;
};
template <>
struct TinyTraits<double> {
  static constexpr DType kType = DType::f64;
  static constexpr int kExponent = -1066;
};
template <>
struct TinyTraits<std::complex<float>> : TinyTraits<float> {
  static constexpr DType kType = DType::c64;
};
template <>
struct TinyTraits<std::complex<double>> : TinyTraits<double> {
  static constexpr DType kType = DType::c128;
};

double real_of(float x) {
  return static_cast<double>(x);
}
double real_of(double x) {
  return x;
}
template <class R>
double real_of(std::complex<R> x) {
  return std::isfinite(x.imag()) ? static_cast<double>(x.real()) : kNaN;
}

/// Diagonally dominant symmetric matrices, and a multiple of the first column: the solution is (1.5, 0, 0 ...).
/// Eight digits of all numbers are above the smallest number.
template <class T>
std::pair<Tensor, Tensor> tiny_system(std::size_t count, std::size_t n) {
  using R = decltype(std::abs(T()));
  const R unit = std::ldexp(R(1), TinyTraits<T>::kExponent);
  Tensor a(TinyTraits<T>::kType,
           {static_cast<std::int64_t>(count), static_cast<std::int64_t>(n), static_cast<std::int64_t>(n)});
  Tensor b(TinyTraits<T>::kType, {static_cast<std::int64_t>(count), static_cast<std::int64_t>(n), 2});
  const auto x = a.span<T>(), y = b.span<T>();
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t r = 0; r < n; ++r) {
      for (std::size_t c = 0; c < n; ++c) {
        const R v = r == c ? R(2 + (r + i) % 2) : r + 1 == c || c + 1 == r ? R(1) / 2 : R(0);
        x[(i * n + r) * n + c] = T(v * unit);
      }
      y[(i * n + r) * 2] = T(R(1.5)) * x[(i * n + r) * n];
      y[(i * n + r) * 2 + 1] = y[(i * n + r) * 2];
    }
  }
  return {a, b};
}

/// The largest distance of X from (1.5, 0, 0 ...).
template <class T>
double distance_from_solution(const Tensor& x, std::size_t n) {
  const auto v = x.span<T>();
  double most = 0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    const double error = std::abs(real_of(v[i]) - (i / 2 % n == 0 ? 1.5 : 0));
    most = std::isfinite(error) ? std::max(most, error) : std::numeric_limits<double>::infinity();
  }
  return most;
}

TYPED_TEST(LinalgTinyTest, SubnormalSystemsHaveTheirSolutions) {
  using T = TypeParam;
  for (const std::size_t n : {1, 2, 4, 5, 8, 16, 17, 33, 65, 100}) {
    for (const std::size_t count : {1, 3, 40}) {
      const std::string at = std::to_string(n) + " rows, " + std::to_string(count) + " matrices";
      const auto [a, b] = tiny_system<T>(count, n);
      const double limit = 0.1;  // factors keep eight digits
      EXPECT_LT(distance_from_solution<T>(linalg::solve(a, b), n), limit) << "solve, " << at;
      EXPECT_LT(distance_from_solution<T>(linalg::lu_solve(linalg::lu_factor(a), b), n), limit) << "lu_solve, " << at;
      EXPECT_LT(distance_from_solution<T>(linalg::ldl_solve(linalg::ldl_factor(a), b), n), limit) << "ldl, " << at;
      EXPECT_LT(distance_from_solution<T>(linalg::lstsq(a, b).x, n), limit) << "lstsq, " << at;
    }
  }
}

TYPED_TEST(LinalgTinyTest, InfinitiesAreNotPositiveDefinite) {
  using T = TypeParam;
  for (const std::size_t n : {1, 2, 4, 5, 16, 17, 33, 65}) {
    for (const std::size_t count : {1, 3, 50}) {
      for (const std::size_t row : {std::size_t{0}, n - 1}) {
        Tensor a = tiny_system<T>(count, n).first;
        const std::size_t bad = count / 2;
        for (T& x : a.template span<T>()) x = x == T(0) ? T(0) : T(std::ldexp(real_of(x), -TinyTraits<T>::kExponent));
        a.template span<T>()[(bad * n + row) * n + row] = T(std::numeric_limits<decltype(std::abs(T()))>::infinity());
        const Tensor found = linalg::cholesky_ex(a).info;
        const auto info = found.span<std::int32_t>();
        for (std::size_t i = 0; i < count; ++i)
          EXPECT_EQ(info[i], i == bad ? static_cast<std::int32_t>(row) + 1 : 0) << n << " rows, matrix " << i;
      }
    }
  }
}

}  // namespace
}  // namespace tern
