// eigh_ex, eig_ex, svd_ex: a matrix without a solution loses no other results. Failures of iterations come from a
// function of the test.
#include <gtest/gtest.h>
#include <tern/error.h>
#include <tern/linalg.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <random>

#include "runtime/linalg/partial_results.h"

namespace tern::linalg {
namespace {

constexpr std::int64_t kMatrices = 23;

template <class T>
struct PartialResultsTest : ::testing::Test {
  static constexpr DType kType = std::is_same_v<T, float>                 ? DType::f32
                                 : std::is_same_v<T, double>              ? DType::f64
                                 : std::is_same_v<T, std::complex<float>> ? DType::c64
                                                                          : DType::c128;
  /// Random matrices; `bad` has NaN, `worse` an infinity in the last row of the first column.
  static Tensor matrices(std::int64_t rows, std::int64_t columns, std::size_t bad, std::size_t worse) {
    std::mt19937 random(7);
    std::uniform_real_distribution<double> number(-1, 1);
    Tensor a(kType, {kMatrices, rows, columns});
    for (T& x : a.span<T>()) {
      if constexpr (std::is_floating_point_v<T>) {
        x = static_cast<T>(number(random));
      } else {
        x = T(std::complex<double>(number(random), number(random)));
      }
    }
    const auto size = static_cast<std::size_t>(rows * columns);
    a.span<T>()[bad * size + size - static_cast<std::size_t>(columns)] = T(std::numeric_limits<float>::quiet_NaN());
    a.span<T>()[worse * size + size - static_cast<std::size_t>(columns)] = T(std::numeric_limits<float>::infinity());
    return a;
  }
  /// Expects NaN in matrices 3 and 20, and elsewhere the results for the batch with zeros in their place.
  template <class X>
  static void expect(const Tensor& found, const Tensor& expected) {
    ASSERT_EQ(found.sizes(), expected.sizes());
    const auto x = found.span<X>(), y = expected.span<X>();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t matrix = i / (x.size() / kMatrices);
      if (matrix == 3 || matrix == 20) {
        EXPECT_TRUE(std::isnan(std::real(x[i]))) << matrix;
      } else {
        EXPECT_EQ(x[i], y[i]) << matrix;
      }
    }
  }
  static void expect_info(const Tensor& info) {
    ASSERT_EQ(info.sizes(), std::vector<std::int64_t>{kMatrices});
    for (std::size_t i = 0; i < kMatrices; ++i)
      EXPECT_EQ(info.span<const std::int32_t>()[i], i == 3 || i == 20 ? 1 : 0) << i;
  }
  static Tensor zeroed_failures(const Tensor& a) {
    Tensor to = a.clone();
    const auto size = static_cast<std::size_t>(a.numel() / kMatrices);
    for (const std::size_t i : {3, 20}) std::fill_n(to.span<T>().data() + i * size, size, T(0));
    return to;
  }
};
using PartialTypes = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(PartialResultsTest, PartialTypes);

TYPED_TEST(PartialResultsTest, GoodMatricesKeepTheirResults) {
  using T = TypeParam;
  using R = decltype(std::abs(T()));
  using C = std::complex<R>;
  for (const std::int64_t n : {2, 5, 17, 40}) {
    const Tensor a = TestFixture::matrices(n, n, 3, 20), good = TestFixture::zeroed_failures(a);
    const EighExResult h = eigh_ex(a);
    const EighResult h_good = eigh(good);
    TestFixture::template expect<const R>(h.values, h_good.values);
    TestFixture::template expect<const T>(h.vectors, h_good.vectors);
    TestFixture::expect_info(h.info);
    TestFixture::template expect<const R>(eigvalsh_ex(a).values, eigvalsh(good));
    const EigExResult e = eig_ex(a);
    const EigResult e_good = eig(good);
    TestFixture::template expect<const C>(e.values, e_good.values);
    TestFixture::template expect<const C>(e.vectors, e_good.vectors);
    TestFixture::expect_info(e.info);
    TestFixture::template expect<const C>(eigvals_ex(a).values, eigvals(good));
    const Tensor b = TestFixture::matrices(n, n + 2, 3, 20), b_good = TestFixture::zeroed_failures(b);
    const SvdExResult s = svd_ex(b);
    const SvdResult s_good = svd(b_good);
    TestFixture::template expect<const T>(s.u, s_good.u);
    TestFixture::template expect<const R>(s.s, s_good.s);
    TestFixture::template expect<const T>(s.vh, s_good.vh);
    TestFixture::expect_info(s.info);
    TestFixture::template expect<const R>(svdvals_ex(b).values, svdvals(b_good));
  }
}

TEST(PartialResults, OtherTriangleDoesNotCount) {
  Tensor a(DType::f64, {2, 2});
  const auto x = a.span<double>();
  x[0] = 1, x[1] = std::numeric_limits<double>::quiet_NaN(), x[2] = 0, x[3] = 2;
  const EighExResult lower = eigh_ex(a), upper = eigh_ex(a, {.upper = true});
  EXPECT_EQ(lower.info.span<const std::int32_t>()[0], 0);
  EXPECT_EQ(lower.values.span<const double>()[1], 2);
  EXPECT_EQ(upper.info.span<const std::int32_t>()[0], 1);
  EXPECT_TRUE(std::isnan(upper.values.span<const double>()[0]));
}

TEST(PartialResults, StridedAndEmptyBatches) {
  Tensor memory(DType::f64, {4, 4});
  for (std::size_t i = 0; i < 16; ++i) memory.span<double>()[i] = static_cast<double>(i * i % 7);
  const Tensor strided = Tensor::borrow(memory.data(), DType::f64, {2, 2, 2}, {2, 4, 1});
  EXPECT_TRUE(std::ranges::equal(svdvals_ex(strided).values.span<const double>(),
                                 svdvals(strided.contiguous()).span<const double>()));
  EXPECT_EQ(eigh_ex(Tensor(DType::f32, {0, 3, 3})).info.numel(), 0);
  EXPECT_EQ(eig_ex(Tensor(DType::f32, {4, 0, 0})).info.numel(), 4);
  EXPECT_THROW(eigh_ex(Tensor(DType::f32, {2, 3})), Error);
  EXPECT_THROW(svd_ex(Tensor(DType::i32, {2, 3})), Error);
}

TEST(PartialResults, FailuresOfSomeMatricesAreFound) {
  for (const std::vector<double>& bad : {std::vector<double>{5}, {0, 1, 63}, {}}) {
    Tensor a(DType::f64, {8, 8, 1, 1});
    for (std::size_t i = 0; i < 64; ++i) a.span<double>()[i] = static_cast<double>(i);
    int calls = 0;
    const auto twice = [&](const Tensor& some) {
      ++calls;
      Tensor y = some.clone();
      for (double& x : y.span<double>()) {
        if (std::ranges::find(bad, x) != bad.end()) fail(ErrorCode::runtime, "no convergence");
        x *= 2;
      }
      return std::vector<Tensor>{Tensor(), y};
    };
    const PartialResults r = run_partially(a, ReadElements::all, twice);
    EXPECT_EQ(r.results[1].sizes(), a.sizes());
    EXPECT_EQ(r.results[0].dtype(), DType::invalid);
    EXPECT_LE(calls, 1 + 13 * static_cast<int>(bad.size()));
    for (std::size_t i = 0; i < 64; ++i) {
      const double x = r.results[1].span<const double>()[i], given = static_cast<double>(i);
      const bool is_bad = std::ranges::find(bad, given) != bad.end();
      EXPECT_EQ(r.info.span<const std::int32_t>()[i], is_bad ? 2 : 0);
      EXPECT_TRUE(is_bad ? std::isnan(x) : x == 2 * given) << i;
    }
  }
}

TEST(PartialResults, AllMatricesMayFail) {
  Tensor a(DType::f64, {2, 1, 1});
  a.span<double>()[0] = a.span<double>()[1] = 1;
  const PartialResults r = run_partially(a, ReadElements::all, [](const Tensor& some) {
    for (const double x : some.span<double>()) {
      if (x != 0) fail(ErrorCode::runtime, "no convergence");
    }
    return std::vector<Tensor>{some.clone()};
  });
  EXPECT_TRUE(std::isnan(r.results[0].span<const double>()[1]));
  EXPECT_EQ(r.info.span<const std::int32_t>()[0], 2);
  EXPECT_THROW(run_partially(a, ReadElements::all,
                             [](const Tensor&) -> std::vector<Tensor> { fail(ErrorCode::out_of_memory, "no memory"); }),
               Error);
}

}  // namespace
}  // namespace tern::linalg
