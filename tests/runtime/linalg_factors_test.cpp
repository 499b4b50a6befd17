// Factors of tern::linalg by their definitions: multiplies out P L U, L D L^H and the reflections; and the infos of bad
// matrices among good matrices, against PyTorch's values.
#include <gtest/gtest.h>
#include <tern/error.h>
#include <tern/linalg.h>

#include <algorithm>
#include <array>
#include <complex>
#include <cstring>
#include <limits>
#include <random>

namespace tern::linalg {
namespace {

using C = std::complex<double>;
using LinalgFactorsMatrix = std::vector<std::vector<C>>;
constexpr std::size_t kLinalgFactorsBatch = 11;  // more than the lanes of a register, and not a multiple

LinalgFactorsMatrix zeros(std::size_t rows, std::size_t columns) {
  return LinalgFactorsMatrix(rows, std::vector<C>(columns));
}
LinalgFactorsMatrix operator*(const LinalgFactorsMatrix& a, const LinalgFactorsMatrix& b) {
  LinalgFactorsMatrix y = zeros(a.size(), b[0].size());
  for (std::size_t r = 0; r < a.size(); ++r) {
    for (std::size_t c = 0; c < y[0].size(); ++c) {
      for (std::size_t k = 0; k < b.size(); ++k) y[r][c] += a[r][k] * b[k][c];
    }
  }
  return y;
}
LinalgFactorsMatrix transposed(const LinalgFactorsMatrix& a, bool conjugated) {
  LinalgFactorsMatrix y = zeros(a[0].size(), a.size());
  for (std::size_t r = 0; r < a.size(); ++r) {
    for (std::size_t c = 0; c < a[0].size(); ++c) y[c][r] = conjugated ? std::conj(a[r][c]) : a[r][c];
  }
  return y;
}
double difference(const LinalgFactorsMatrix& a, const LinalgFactorsMatrix& b) {
  double most = 0;
  for (std::size_t r = 0; r < a.size(); ++r) {
    for (std::size_t c = 0; c < a[0].size(); ++c) {
      const double d = std::abs(a[r][c] - b[r][c]);
      if (!(d <= most)) most = d;  // NaN too
    }
  }
  return most;
}

class LinalgFactors : public ::testing::TestWithParam<DType> {
 protected:
  DType type() const { return GetParam(); }
  bool complex() const { return type() == DType::c128; }
  Tensor tensor(const std::vector<LinalgFactorsMatrix>& all) const {
    Tensor t(type(), {static_cast<std::int64_t>(all.size()), static_cast<std::int64_t>(all[0].size()),
                      static_cast<std::int64_t>(all[0][0].size())});
    std::size_t i = 0;
    for (const LinalgFactorsMatrix& m : all) {
      for (const auto& row : m) {
        for (const C& x : row) {
          complex() ? void(t.span<C>()[i] = x) : void(t.span<double>()[i] = x.real());
          ++i;
        }
      }
    }
    return t;
  }
  LinalgFactorsMatrix matrix(const Tensor& t, std::size_t i) const {
    const auto rank = t.sizes().size();
    LinalgFactorsMatrix m =
        zeros(static_cast<std::size_t>(t.sizes()[rank - 2]), static_cast<std::size_t>(t.sizes()[rank - 1]));
    for (std::size_t r = 0; r < m.size(); ++r) {
      for (std::size_t c = 0; c < m[0].size(); ++c) {
        const std::size_t at = (i * m.size() + r) * m[0].size() + c;
        m[r][c] = complex() ? t.span<C>()[at] : t.span<double>()[at];
      }
    }
    return m;
  }
  std::vector<LinalgFactorsMatrix> random(std::size_t rows, std::size_t columns) {
    std::uniform_real_distribution<double> number(-1, 1);
    std::vector<LinalgFactorsMatrix> all(kLinalgFactorsBatch, zeros(rows, columns));
    for (LinalgFactorsMatrix& m : all) {
      for (auto& row : m) {
        for (C& x : row) x = C(number(engine_), complex() ? number(engine_) : 0);
      }
    }
    return all;
  }

 private:
  std::mt19937 engine_{5};
};
INSTANTIATE_TEST_SUITE_P(Types, LinalgFactors, ::testing::Values(DType::f64, DType::c128),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(LinalgFactors, LuOfAnyShape) {
  for (const auto& [m, n] : {std::pair<std::size_t, std::size_t>{1, 1}, {5, 3}, {3, 5}, {9, 9}, {40, 40}}) {
    std::vector<LinalgFactorsMatrix> a = random(m, n);
    for (auto& row : a[1]) row[0] = 0;  // singular
    const LuResult r = lu(tensor(a));
    for (std::size_t i = 0; i < kLinalgFactorsBatch; ++i) {
      const LinalgFactorsMatrix p = matrix(r.p, i), l = matrix(r.l, i), u = matrix(r.u, i);
      EXPECT_LT(difference(p * l * u, a[i]), 1e-13);
      EXPECT_EQ(difference(p * transposed(p, false), transposed(p, false) * p), 0);
      for (std::size_t k = 0; k < l[0].size(); ++k) {
        EXPECT_EQ(l[k][k], C(1));
        if (k > 0) {
          EXPECT_EQ(l[k - 1][k], C(0));
          EXPECT_EQ(u[k][k - 1], C(0));
        }
      }
    }
  }
}

TEST_P(LinalgFactors, LdlSolvesIndefiniteSystems) {
  for (const std::size_t n : {1, 2, 7, 40}) {
    for (const bool hermitian : {false, true}) {
      std::vector<LinalgFactorsMatrix> a = random(n, n);
      const std::vector<LinalgFactorsMatrix> b = random(n, 2);
      for (LinalgFactorsMatrix& m : a) {
        const LinalgFactorsMatrix other = transposed(m, hermitian);
        for (std::size_t r = 0; r < n; ++r) {
          for (std::size_t c = 0; c < n; ++c) m[r][c] += other[r][c];
          m[r][r] += r % 2 == 0 ? 3.0 : -3.0;  // neither positive nor negative definite
        }
      }
      const LdlFactors f = ldl_factor(tensor(a), {.hermitian = hermitian});
      const Tensor x = ldl_solve(f, tensor(b), {.hermitian = hermitian});
      for (std::size_t i = 0; i < kLinalgFactorsBatch; ++i) {
        EXPECT_LT(difference(a[i] * matrix(x, i), b[i]), 1e-12) << n;
        EXPECT_EQ(f.info.span<std::int32_t>()[i], 0);
      }
    }
  }
}

TEST_P(LinalgFactors, HouseholderProductsOneAfterTheOther) {
  for (const auto& [m, n, k] : {std::array<std::size_t, 3>{1, 1, 1}, {5, 3, 2}, {9, 9, 9}, {40, 8, 8}}) {
    const std::vector<LinalgFactorsMatrix> v = random(m, n), factors = random(1, k);
    const Tensor rows = tensor(factors);
    Tensor tau(type(), {static_cast<std::int64_t>(kLinalgFactorsBatch), static_cast<std::int64_t>(k)});
    std::memcpy(tau.data(), rows.data(), static_cast<std::size_t>(tau.numel() * element_size(type())));
    const Tensor q = householder_product(tensor(v), tau);
    for (std::size_t i = 0; i < kLinalgFactorsBatch; ++i) {
      LinalgFactorsMatrix expected = zeros(m, n);
      for (std::size_t c = 0; c < n; ++c) expected[c][c] = 1;
      double size = 1;
      for (std::size_t j = k; j-- > 0;) {  // multiplies by H_j from the left
        LinalgFactorsMatrix h = zeros(m, 1);
        h[j][0] = 1;
        for (std::size_t r = j + 1; r < m; ++r) h[r][0] = v[i][r][j];
        const LinalgFactorsMatrix along = transposed(h, true) * expected;
        for (std::size_t r = 0; r < m; ++r) {
          for (std::size_t c = 0; c < n; ++c) {
            expected[r][c] -= factors[i][0][j] * h[r][0] * along[0][c];
            size = std::max(size, std::abs(expected[r][c]));
          }
        }
      }
      EXPECT_LT(difference(matrix(q, i), expected), 1e-13 * size) << m << " " << n;
    }
  }
}

/// Bad matrices inside the batch: column and row 1 zero; all zero; NaN in row and column 2; NaN at the end. The values
/// come from PyTorch 2.12 (MKL) for this batch, equal for float64 and complex128.
TEST_P(LinalgFactors, InfosOfBadMatricesAreThoseOfPyTorch) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::size_t n : {3, 9, 40}) {
    std::vector<LinalgFactorsMatrix> a = random(n, n);
    for (LinalgFactorsMatrix& m : a) {
      const LinalgFactorsMatrix other = transposed(m, true);
      for (std::size_t r = 0; r < n; ++r) {
        for (std::size_t c = 0; c < n; ++c) m[r][c] += other[r][c];
        m[r][r] += 4.0 * static_cast<double>(n);
      }
    }
    for (std::size_t r = 0; r < n; ++r) a[1][r][1] = a[1][1][r] = 0;
    a[2] = zeros(n, n);
    a[3][2][0] = a[3][0][2] = nan;
    a[4][n - 1][n - 1] = nan;
    const Tensor t = tensor(a), b = tensor(random(n, 1));
    const auto check = [&](const Tensor& info, std::array<std::int32_t, 5> expected, const char* name) {
      for (std::size_t i = 0; i < kLinalgFactorsBatch; ++i)
        EXPECT_EQ(info.span<std::int32_t>()[i], i < 5 ? expected[i] : 0) << name << " " << n << ", matrix " << i;
    };
    check(cholesky_ex(t).info, {0, 2, 1, 3, static_cast<std::int32_t>(n)}, "cholesky");
    check(lu_factor_ex(t).info, {0, 2, 1, 0, 0}, "lu_factor");
    check(inv_ex(t).info, {0, 2, 1, 0, 0}, "inv");
    check(solve_ex(t, b).info, {0, 2, 1, 0, 0}, "solve");
    a[3] = a[4] = a[0];  // libraries disagree on NaN
    check(ldl_factor_ex(tensor(a), {.hermitian = true}).info, {0, 2, 1, 0, 0}, "ldl_factor");
  }
}

/// Most matrices of Gaussian integers with two equal rows have a pivot of exactly zero; PyTorch (MKL) reports 0.83,
/// 0.68 and 0.60 of matrices with 2, 3 and 4 rows.
TEST(LinalgFactorsErrors, EqualRowsOfIntegersAreSingular) {
  std::mt19937 random(1);
  std::uniform_int_distribution<int> digit(-9, 9);
  for (const std::int64_t n : {2, 3, 4}) {
    constexpr std::int64_t count = 500;
    Tensor a(DType::c128, {count, n, n});
    const auto x = a.span<C>();
    for (C& v : x) v = C(digit(random), digit(random));
    for (std::int64_t i = 0; i < count; ++i) {
      const auto first = x.begin() + i * n * n;
      std::copy_n(first, n, first + (n - 1) * n);
    }
    for (const Tensor& info : {lu_factor_ex(a).info, inv_ex(a).info}) {
      const auto found = std::ranges::count_if(info.span<const std::int32_t>(), [](std::int32_t i) { return i != 0; });
      EXPECT_GT(found, count * 17 / 20) << n;
    }
  }
}

/// Matrices with the eigenvalues 1 to 4, alone and in a batch large enough for lanes.
TEST(LinalgFactorsErrors, ImaginaryPartsOfDiagonals) {
  for (const std::int64_t count : {1, 11}) {
    Tensor a(DType::c128, {count, 4, 4});
    const auto x = a.span<C>();
    std::ranges::fill(x, C(0));
    for (std::int64_t i = 0; i < count * 4; ++i) x[static_cast<std::size_t>(i * 4 + i % 4)] = C(i % 4 + 1.0, 1e300);
    const Tensor values = eigh(a).values;
    for (std::size_t i = 0; i < values.span<double>().size(); ++i)
      EXPECT_NEAR(values.span<double>()[i], static_cast<double>(i % 4 + 1), 1e-14) << count;
    x[5].imag(std::numeric_limits<double>::quiet_NaN());
    EXPECT_THROW(eigh(a), Error) << count;
  }
}

TEST(LinalgFactorsErrors, LdlNamesTheSingularMatrix) {
  Tensor a(DType::f64, {2, 2, 2});
  const double numbers[] = {2, 1, 1, 2, 1, 0, 0, 0};
  std::copy(std::begin(numbers), std::end(numbers), a.span<double>().begin());
  try {
    ldl_factor(a);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("matrix 1 of the batch is singular: D[2, 2]"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace tern::linalg
