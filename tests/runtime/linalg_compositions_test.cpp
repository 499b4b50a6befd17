// cholesky_update, tridiagonal_solve, eigh_generalized and polar by their definitions, and their errors.
#include <gtest/gtest.h>
#include <tern/error.h>
#include <tern/linalg.h>

#include <cmath>
#include <complex>
#include <random>

namespace tern::linalg {
namespace {

constexpr std::size_t kCompositionBatch = 6;

template <class T>
struct LinalgCompositions : ::testing::Test {
  using R = decltype(std::abs(T()));
  static constexpr DType kType = std::is_same_v<T, float>                 ? DType::f32
                                 : std::is_same_v<T, double>              ? DType::f64
                                 : std::is_same_v<T, std::complex<float>> ? DType::c64
                                                                          : DType::c128;
  static constexpr double kLimit = sizeof(R) == 4 ? 2e-5 : 4e-14;

  std::mt19937 random{11};
  T number() {
    std::uniform_real_distribution<R> uniform(-1, 1);
    if constexpr (std::is_floating_point_v<T>) {
      return uniform(random);
    } else {
      const R re = uniform(random);
      return T(re, uniform(random));
    }
  }
  Tensor numbers(std::vector<std::int64_t> sizes) {
    sizes.insert(sizes.begin(), kCompositionBatch);
    Tensor t(kType, sizes);
    for (T& x : t.span<T>()) x = number();
    return t;
  }
  static T conjugate(T x) {
    if constexpr (std::is_floating_point_v<T>) {
      return x;
    } else {
      return std::conj(x);
    }
  }
  /// A A^H + n, [batch, n, n]
  Tensor positive(std::int64_t n) {
    const Tensor a = numbers({n, n});
    Tensor y(kType, a.sizes());
    const auto size = static_cast<std::size_t>(n);
    for (std::size_t i = 0; i < kCompositionBatch; ++i) {
      for (std::size_t r = 0; r < size; ++r) {
        for (std::size_t c = 0; c < size; ++c) {
          T sum = r == c ? T(static_cast<R>(n)) : T(0);
          for (std::size_t k = 0; k < size; ++k) sum += element(a, i, r, k) * conjugate(element(a, i, c, k));
          y.span<T>()[(i * size + r) * size + c] = sum;
        }
      }
    }
    return y;
  }
  static T element(const Tensor& t, std::size_t i, std::size_t r, std::size_t c) {
    const auto rows = static_cast<std::size_t>(t.sizes()[1]), columns = static_cast<std::size_t>(t.sizes()[2]);
    return t.span<T>()[(i * rows + r) * columns + c];
  }
  static void expect_near(T found, T expected, double size, const char* what) {
    EXPECT_LE(static_cast<double>(std::abs(found - expected)), kLimit * size) << what;
  }
  /// Writes 77 to the triangle that is not read.
  static Tensor one_triangle(const Tensor& a, bool upper) {
    Tensor t = a.clone();
    const auto n = static_cast<std::size_t>(a.sizes()[2]);
    for (std::size_t i = 0; i < t.span<T>().size(); ++i) {
      const std::size_t r = i / n % n, c = i % n;
      if (upper ? c < r : c > r) t.span<T>()[i] = T(77);
    }
    return t;
  }
};
using CompositionTypes = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(LinalgCompositions, CompositionTypes);

TYPED_TEST(LinalgCompositions, UpdatedFactorsAreThoseOfTheUpdatedMatrix) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 2, 5, 17, 40}) {
    for (const bool upper : {false, true}) {
      const Tensor a = this->positive(n), x = this->numbers({n});
      Tensor sum = a.clone();
      const auto size = static_cast<std::size_t>(n);
      for (std::size_t i = 0; i < kCompositionBatch; ++i) {
        for (std::size_t e = 0; e < size * size; ++e)
          sum.span<T>()[i * size * size + e] +=
              x.span<T>()[i * size + e / size] * this->conjugate(x.span<T>()[i * size + e % size]);
      }
      const Tensor factor = cholesky(a, {.upper = upper}), expected = cholesky(sum, {.upper = upper});
      const Tensor found = cholesky_update(factor, x, {.upper = upper});
      const Tensor back = cholesky_update(found, x, {.upper = upper, .downdate = true});
      for (std::size_t i = 0; i < found.span<const T>().size(); ++i) {
        const double scale = 4 * static_cast<double>(n);
        this->expect_near(found.span<const T>()[i], expected.span<const T>()[i], scale, "update");
        this->expect_near(back.span<const T>()[i], factor.span<const T>()[i], 4 * scale, "downdate");
      }
    }
  }
  Tensor x = this->numbers({3});
  for (T& e : x.template span<T>()) e = T(0);
  x.template span<T>()[4] = T(100);  // row 2 of matrix 1
  const Tensor factor = cholesky(this->positive(3));
  const Tensor info = cholesky_update_ex(factor, x, {.downdate = true}).info;
  for (std::size_t i = 0; i < kCompositionBatch; ++i) EXPECT_EQ(info.span<const std::int32_t>()[i], i == 1 ? 2 : 0);
  EXPECT_THROW(cholesky_update(factor, x, {.downdate = true}), Error);
  EXPECT_THROW(cholesky_update(factor, this->numbers({4})), Error);
}

TYPED_TEST(LinalgCompositions, TridiagonalSystemsHaveTheSolutionsOfDenseSystems) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 2, 3, 8, 50}) {
    for (const bool pivots : {false, true}) {
      const Tensor lower = this->numbers({n - 1}), upper = this->numbers({n - 1}), b = this->numbers({n, 3});
      Tensor diagonal = this->numbers({n}), dense(this->kType, {kCompositionBatch, n, n});
      const auto size = static_cast<std::size_t>(n);
      for (std::size_t i = 0; i < kCompositionBatch; ++i) {
        for (std::size_t r = 0; r < size; ++r) {
          T& d = diagonal.span<T>()[i * size + r];
          d = pivots && size % 2 == 0 ? T(0) : d + T(3);
          dense.span<T>()[(i * size + r) * size + r] = d;
          if (r + 1 == size) continue;
          dense.span<T>()[(i * size + r) * size + r + 1] = upper.span<T>()[i * (size - 1) + r];
          dense.span<T>()[(i * size + r + 1) * size + r] = lower.span<T>()[i * (size - 1) + r];
        }
      }
      const Tensor found = tridiagonal_solve(lower, diagonal, upper, b);
      for (std::size_t i = 0; i < kCompositionBatch; ++i) {  // A X = B
        for (std::size_t r = 0; r < size; ++r) {
          for (std::size_t c = 0; c < 3; ++c) {
            T sum = T(0);
            double scale = 4;
            for (std::size_t k = 0; k < size; ++k) {
              const T product = this->element(dense, i, r, k) * this->element(found, i, k, c);
              sum += product;
              scale += static_cast<double>(std::abs(product));
            }
            this->expect_near(sum, this->element(b, i, r, c), scale, "tridiagonal");
          }
        }
      }
    }
  }
  Tensor diagonal = this->numbers({2}), lower = this->numbers({1}), upper = this->numbers({1});
  diagonal.template span<T>()[4] = lower.template span<T>()[2] = T(0);  // first column of matrix 2
  const Tensor info = tridiagonal_solve_ex(lower, diagonal, upper, this->numbers({2, 1})).info;
  for (std::size_t i = 0; i < kCompositionBatch; ++i) EXPECT_EQ(info.span<const std::int32_t>()[i], i == 2 ? 1 : 0);
  EXPECT_THROW(tridiagonal_solve(lower, diagonal, upper, this->numbers({2, 1})), Error);
  EXPECT_THROW(tridiagonal_solve(diagonal, diagonal, upper, this->numbers({2, 1})), Error);
}

TYPED_TEST(LinalgCompositions, GeneralizedEigenvectors) {
  using T = TypeParam;
  using R = typename TestFixture::R;
  for (const std::int64_t n : {1, 2, 5, 17, 33}) {
    for (const bool upper : {false, true}) {
      const auto size = static_cast<std::size_t>(n);
      const Tensor b = this->positive(n);
      Tensor a = this->positive(n);
      for (std::size_t i = 0; i < kCompositionBatch * size; ++i) a.span<T>()[i * size + i % size] -= T(R(2 * n));
      const EighResult r =
          eigh_generalized(this->one_triangle(a, upper), this->one_triangle(b, upper), {.upper = upper});
      for (std::size_t i = 0; i < kCompositionBatch; ++i) {
        for (std::size_t k = 0; k < size; ++k) {
          const R value = r.values.span<const R>()[i * size + k];
          EXPECT_GE(value, r.values.span<const R>()[i * size + (k == 0 ? 0 : k - 1)]);
          T length = T(0);
          for (std::size_t row = 0; row < size; ++row) {
            T left = T(0), right = T(0);
            for (std::size_t j = 0; j < size; ++j) {
              left += this->element(a, i, row, j) * this->element(r.vectors, i, j, k);
              right += this->element(b, i, row, j) * this->element(r.vectors, i, j, k);
            }
            length += this->conjugate(this->element(r.vectors, i, row, k)) * right;
            this->expect_near(left, right * value, 20 * static_cast<double>(n), "A V = B V diag(values)");
          }
          this->expect_near(length, T(1), 20 * static_cast<double>(n), "V^H B V");
        }
      }
    }
  }
  const Tensor a = this->positive(3);
  Tensor b = a.clone();
  b.template span<T>()[2 * 9] = T(-1);
  try {
    eigh_generalized(a, b);
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("matrix 2 of the batch of B is not positive definite"), std::string::npos)
        << e.what();
  }
  EXPECT_THROW(eigh_generalized(a, this->positive(4)), Error);
}

TYPED_TEST(LinalgCompositions, PolarFactors) {
  using T = TypeParam;
  for (const auto& [m, n] : std::initializer_list<std::pair<std::int64_t, std::int64_t>>{{4, 4}, {20, 7}, {3, 9}}) {
    const Tensor a = this->numbers({m, n});
    const PolarResult r = polar(a);
    const auto rows = static_cast<std::size_t>(m), columns = static_cast<std::size_t>(n);
    const Tensor eigenvalues = eigvalsh(r.h);
    for (const auto x : eigenvalues.span<const typename TestFixture::R>()) EXPECT_GE(x, -1e-4F);
    for (std::size_t i = 0; i < kCompositionBatch; ++i) {
      for (std::size_t row = 0; row < rows; ++row) {
        for (std::size_t c = 0; c < columns; ++c) {
          T sum = T(0);
          for (std::size_t k = 0; k < columns; ++k) sum += this->element(r.u, i, row, k) * this->element(r.h, i, k, c);
          this->expect_near(sum, this->element(a, i, row, c), 20, "U H");
        }
      }
      for (std::size_t c = 0; c < columns; ++c) {
        for (std::size_t d = 0; d < columns; ++d) {
          this->expect_near(this->element(r.h, i, c, d), this->conjugate(this->element(r.h, i, d, c)), 20, "H");
          if (m < n) continue;
          T sum = T(0);
          for (std::size_t k = 0; k < rows; ++k)
            sum += this->conjugate(this->element(r.u, i, k, c)) * this->element(r.u, i, k, d);
          this->expect_near(sum, T(c == d ? 1 : 0), 20, "U^H U");
        }
      }
    }
  }
}

}  // namespace
}  // namespace tern::linalg
