// Batches of small matrices, a matrix per lane: residuals of difficult spectra for every instruction set, within
// LAPACK's bounds; unused lanes, and bad matrices among good matrices.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu/linalg/lanes/loops.h"
#include "tests/kernels/matrix.h"

namespace tern::cpu::lanes {
namespace {

using test::Long;
using test::Matrix;

template <class T>
using RealPart = typename PartOf<T>::type;
template <class T>
inline constexpr bool kComplex = !std::is_same_v<T, RealPart<T>>;
template <class T>
std::vector<LaneLoops<T>> all_lane_loops() {
  std::vector<LaneLoops<T>> all;
  for_each_level(kComplex<T> ? set_complex_levels : set_real_levels, [&](auto set) {
    AllLoops loops;
    set(&loops);
    if constexpr (std::is_same_v<T, float>) all.push_back(loops.f32);
    if constexpr (std::is_same_v<T, double>) all.push_back(loops.f64);
    if constexpr (std::is_same_v<T, std::complex<float>>) all.push_back(loops.c64);
    if constexpr (std::is_same_v<T, std::complex<double>>) all.push_back(loops.c128);
    if (all.back().lanes == 0) all.pop_back();
  });
  return all;
}

template <class T>
inline constexpr long double kRealEpsilon = std::numeric_limits<RealPart<T>>::epsilon();

/// x as a number of T.
template <class T>
T rounded(Long x) {
  if constexpr (kComplex<T>) {
    return T(static_cast<RealPart<T>>(x.real()), static_cast<RealPart<T>>(x.imag()));
  } else {
    return static_cast<T>(x.real());
  }
}

bool is_real(const Matrix& a) {
  return std::ranges::all_of(a.values, [](const Long& x) { return x.imag() == 0; });
}
/// The product; real matrices skip complex arithmetic, which would dominate the test's time.
Matrix times(const Matrix& a, const Matrix& b) {
  if (!is_real(a) || !is_real(b)) return a * b;
  Matrix m(a.rows, b.columns);
  std::vector<long double> sum(static_cast<std::size_t>(b.columns));
  for (std::int64_t i = 0; i < a.rows; ++i) {
    std::ranges::fill(sum, 0.0L);
    for (std::int64_t k = 0; k < a.columns; ++k) {
      const long double left = a.at(i, k).real();
      for (std::int64_t j = 0; j < b.columns; ++j) sum[static_cast<std::size_t>(j)] += left * b.at(k, j).real();
    }
    for (std::int64_t j = 0; j < b.columns; ++j) m.at(i, j) = sum[static_cast<std::size_t>(j)];
  }
  return m;
}

enum class Spectrum { random, graded, clustered, deficient, singular, tiny, huge, zero, diagonal };
constexpr Spectrum kSpectra[] = {Spectrum::random,    Spectrum::graded,   Spectrum::clustered,
                                 Spectrum::deficient, Spectrum::singular, Spectrum::tiny,
                                 Spectrum::huge,      Spectrum::zero,     Spectrum::diagonal};

/// Columns of orthonormal vectors, by Gram and Schmidt, twice.
Matrix orthonormal(std::int64_t m, std::int64_t n, bool complex, std::mt19937& random) {
  std::normal_distribution<double> normal;
  std::vector<std::vector<Long>> columns;
  const auto dot = [](const std::vector<Long>& x, const std::vector<Long>& y) {
    Long sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += std::conj(x[i]) * y[i];
    return sum;
  };
  Matrix q(m, n);
  for (std::int64_t c = 0; c < n; ++c) {
    std::vector<Long> x(static_cast<std::size_t>(m));
    for (Long& v : x) v = Long(normal(random), complex ? normal(random) : 0);
    for (int pass = 0; pass < 2; ++pass) {
      for (const auto& other : columns) {
        const Long along = dot(other, x);
        for (std::size_t r = 0; r < x.size(); ++r) x[r] -= along * other[r];
      }
    }
    const long double length = std::sqrt(dot(x, x).real());
    for (Long& v : x) v /= length;
    for (std::int64_t r = 0; r < m; ++r) q.at(r, c) = x[static_cast<std::size_t>(r)];
    columns.push_back(x);
  }
  return q;
}

template <class T>
std::vector<Long> values_of(Spectrum s, std::int64_t n, std::mt19937& random) {
  const long double epsilon = kRealEpsilon<T>;
  std::normal_distribution<double> normal;
  std::vector<Long> v;
  for (std::int64_t i = 0; i < n; ++i) {
    const long double share = n == 1 ? 0.0L : static_cast<long double>(i) / static_cast<long double>(n - 1);
    switch (s) {
      case Spectrum::graded: v.emplace_back(std::pow(epsilon * epsilon, share)); break;
      case Spectrum::clustered: v.emplace_back(i < n / 2 ? 1 + 4 * epsilon * i : 0.5L + 2 * epsilon * i); break;
      case Spectrum::deficient: v.emplace_back(i < (n + 3) / 4 ? normal(random) : 0); break;
      case Spectrum::singular: v.emplace_back(i == 0 ? 0 : normal(random)); break;
      default: v.emplace_back(normal(random));
    }
  }
  return v;
}

/// U diag(values) V^H rounded to T; hermitian: U = V.
template <class T>
Matrix matrix_of(Spectrum s, std::int64_t m, std::int64_t n, bool hermitian, std::uint32_t seed) {
  std::mt19937 random(seed);
  const std::int64_t k = std::min(m, n);
  Matrix a(m, n);
  if (s == Spectrum::zero) return a;
  const std::vector<Long> values = values_of<T>(s, k, random);
  if (s == Spectrum::diagonal) {
    for (std::int64_t i = 0; i < k; ++i) a.at(i, i) = values[static_cast<std::size_t>(i)];
  } else {
    const Matrix u = orthonormal(m, k, kComplex<T>, random), v = hermitian ? u : orthonormal(n, k, kComplex<T>, random);
    a = times(times(u, test::diagonal(values)), adjoint(v));
  }
  const long double size = s == Spectrum::tiny   ? std::numeric_limits<RealPart<T>>::min() * 64
                           : s == Spectrum::huge ? std::numeric_limits<RealPart<T>>::max() / 64
                                                 : 1;
  for (Long& x : a.values) x = rounded<T>(x * size);
  for (std::int64_t r = 0; hermitian && r < m; ++r) {
    a.at(r, r) = a.at(r, r).real();
    for (std::int64_t c = 0; c < r; ++c) a.at(c, r) = std::conj(a.at(r, c));
  }
  return a;
}

/// Matrices in contiguous memory, and their tiles.
template <class T>
struct Batch {
  std::vector<std::vector<T>> memory;
  std::int64_t rows, columns;

  Batch(std::int64_t count, std::int64_t r, std::int64_t c)
      : memory(static_cast<std::size_t>(count), std::vector<T>(static_cast<std::size_t>(r * c), T(-7))),
        rows(r),
        columns(c) {}
  explicit Batch(const std::vector<Matrix>& all)
      : Batch(static_cast<std::int64_t>(all.size()), all[0].rows, all[0].columns) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (std::size_t k = 0; k < all[i].values.size(); ++k) memory[i][k] = rounded<T>(all[i].values[k]);
    }
  }
  template <class U>
  LaneMatrices<U> lanes(int used) {
    LaneMatrices<U> m{{}, rows, columns, columns, 1};
    const int last = static_cast<int>(memory.size()) - 1;
    for (int l = 0; l < used; ++l) m.data[l] = memory[static_cast<std::size_t>(std::min(l, last))].data();
    return m;
  }
  Matrix matrix(std::size_t i) const {
    Matrix m(rows, columns);
    for (std::size_t k = 0; k < m.values.size(); ++k) m.values[k] = memory[i][k];
    return m;
  }
};
template <class T>
struct Aligned {
  explicit Aligned(std::int64_t count) : bytes(static_cast<std::size_t>(count) * sizeof(T) + 64) {}
  T* data() {
    return reinterpret_cast<T*>((reinterpret_cast<std::uintptr_t>(bytes.data()) + 63) & ~std::uintptr_t{63});
  }
  std::vector<std::byte> bytes;
};

/// Eigenvalues or singular values, in order.
template <class T>
void unpack_values(const LaneLoops<T>& complex_loops, const RealPart<T>* values, const std::int32_t* places,
                   Batch<RealPart<T>>& to) {
  for (const LaneLoops<RealPart<T>>& loops : all_lane_loops<RealPart<T>>()) {
    if (loops.lanes != complex_loops.lanes) continue;
    const Tile<RealPart<T>> from = {const_cast<RealPart<T>*>(values), 1, 1};
    return loops.unpack(from, places, loops.lanes, to.template lanes<RealPart<T>>(loops.lanes));
  }
}

long double norm(const Matrix& a) {
  long double sum = 0;
  for (const Long& v : a.values) sum += std::norm(v);
  return std::sqrt(sum);
}
/// |a - b| over |a|, n and a rounding error: LAPACK's own tests ask for less than 30.
template <class T>
long double relative(const Matrix& a, Matrix b, long double n) {
  for (std::size_t i = 0; i < a.values.size(); ++i) b.values[i] -= a.values[i];
  const long double size = norm(a), epsilon = kRealEpsilon<T>;
  const long double error = norm(b);
  return error == 0 ? 0 : error / (n * epsilon * (size == 0 ? 1 : size));
}
template <class T>
long double orthogonality(const Matrix& q) {
  return relative<T>(test::identity(q.columns), times(adjoint(q), q), static_cast<long double>(q.rows));
}

template <class T>
class LanesTest : public ::testing::Test {};
using Types = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(LanesTest, Types);

/// A tile with a spectrum per lane.
template <class T>
std::vector<Matrix> tile_of(int lanes, std::int64_t m, std::int64_t n, bool hermitian, std::uint32_t seed) {
  std::vector<Matrix> all;
  for (int l = 0; l < lanes; ++l)
    all.push_back(matrix_of<T>(kSpectra[(l + seed) % std::size(kSpectra)], m, n, hermitian,
                               seed * 100 + static_cast<std::uint32_t>(l)));
  return all;
}
std::string name_of(int lane, std::uint32_t seed, std::int64_t n) {
  return "spectrum " + std::to_string((lane + seed) % std::size(kSpectra)) + " of order " + std::to_string(n);
}

TYPED_TEST(LanesTest, EighOfSpectra) {
  using T = TypeParam;
  for (const LaneLoops<T>& loops : all_lane_loops<T>()) {
    for (const int n : {1, 2, 3, 4, 5, 8, 21}) {
      for (std::uint32_t seed = 0; seed < std::size(kSpectra); seed += static_cast<std::uint32_t>(loops.lanes)) {
        const std::vector<Matrix> given = tile_of<T>(loops.lanes, n, n, true, seed);
        Batch<T> a(given), v(loops.lanes, n, n);
        Batch<RealPart<T>> w(loops.lanes, n, 1);
        const std::int64_t size = std::int64_t{n} * n * loops.lanes;
        Aligned<RealPart<T>> values(n * loops.lanes);
        Aligned<T> tile(size), z(size), scratch(loops.eigh_scratch(n) * loops.lanes);
        std::vector<std::int32_t> places(static_cast<std::size_t>(n * loops.lanes));
        loops.pack(a.template lanes<const T>(loops.lanes), nullptr, {tile.data(), n, 1});
        Infos infos;
        loops.eigh({tile.data(), n, 1}, n, values.data(), places.data(), {z.data(), 1, n}, scratch.data(), infos);
        unpack_values<T>(loops, values.data(), places.data(), w);
        loops.unpack({z.data(), n, 1}, places.data(), loops.lanes, v.template lanes<T>(loops.lanes));
        for (int l = 0; l < loops.lanes; ++l) {
          const auto i = static_cast<std::size_t>(l);
          const Matrix vectors = transposed(v.matrix(i));
          std::vector<Long> d;
          for (int k = 0; k < n; ++k) d.push_back(w.matrix(i).at(k, 0));
          ASSERT_EQ(infos[l], 0) << name_of(l, seed, n);
          ASSERT_LT(orthogonality<T>(vectors), 4) << name_of(l, seed, n);
          ASSERT_LT(relative<T>(given[i], times(times(vectors, test::diagonal(d)), adjoint(vectors)), n), 4)
              << name_of(l, seed, n);
          for (int k = 1; k < n; ++k)
            ASSERT_LE(d[static_cast<std::size_t>(k - 1)].real(), d[static_cast<std::size_t>(k)].real());
        }
      }
    }
  }
}

TYPED_TEST(LanesTest, SvdOfSpectra) {
  using T = TypeParam;
  for (const LaneLoops<T>& loops : all_lane_loops<T>()) {
    for (const auto& [m, n] : std::vector<std::pair<int, int>>{{1, 1}, {2, 2}, {3, 3}, {8, 8}, {9, 4}, {21, 21}}) {
      for (std::uint32_t seed = 0; seed < std::size(kSpectra); seed += static_cast<std::uint32_t>(loops.lanes)) {
        for (const int width : {n, m}) {
          const std::vector<Matrix> given = tile_of<T>(loops.lanes, m, n, false, seed);
          Batch<T> a(given), u(loops.lanes, width, m), v(loops.lanes, n, n);
          Batch<RealPart<T>> s(loops.lanes, n, 1);
          const std::int64_t size = std::int64_t{m} * m * loops.lanes;
          Aligned<RealPart<T>> values(n * loops.lanes);
          Aligned<T> tile(size), left(size), right(size), scratch(loops.svd_scratch(m, n) * loops.lanes);
          std::vector<std::int32_t> places(static_cast<std::size_t>(width * loops.lanes));
          loops.pack(a.template lanes<const T>(loops.lanes), nullptr, {tile.data(), 1, m});
          Infos infos;
          loops.svd({tile.data(), 1, m}, m, n, values.data(), places.data(), {left.data(), 1, m}, width,
                    {right.data(), 1, n}, scratch.data(), infos);
          for (int k = n * loops.lanes; k < width * loops.lanes; ++k)
            places[static_cast<std::size_t>(k)] = k / loops.lanes;
          unpack_values<T>(loops, values.data(), places.data(), s);
          loops.unpack({left.data(), m, 1}, places.data(), loops.lanes, u.template lanes<T>(loops.lanes));
          loops.unpack({right.data(), n, 1}, places.data(), loops.lanes, v.template lanes<T>(loops.lanes));
          for (int l = 0; l < loops.lanes; ++l) {
            const auto i = static_cast<std::size_t>(l);
            ASSERT_EQ(infos[l], 0) << name_of(l, seed, n);
            ASSERT_LT(orthogonality<T>(transposed(u.matrix(i))), 4) << name_of(l, seed, n);
            ASSERT_LT(orthogonality<T>(v.matrix(i)), 4) << name_of(l, seed, n);
            Matrix sigma(width, n);
            for (int k = 0; k < n; ++k) sigma.at(k, k) = s.matrix(i).at(k, 0);
            ASSERT_LT(relative<T>(given[i], times(times(transposed(u.matrix(i)), sigma), v.matrix(i)), m), 4)
                << name_of(l, seed, n);
            for (int k = 1; k < n; ++k) ASSERT_GE(sigma.at(k - 1, k - 1).real(), sigma.at(k, k).real());
            ASSERT_GE(sigma.at(n - 1, n - 1).real(), 0);
          }
        }
      }
    }
  }
}

TYPED_TEST(LanesTest, QrOfSpectra) {
  using T = TypeParam;
  for (const LaneLoops<T>& loops : all_lane_loops<T>()) {
    for (const auto& [m, n] : std::vector<std::pair<int, int>>{{1, 1}, {2, 2}, {4, 9}, {9, 4}, {21, 21}}) {
      for (std::uint32_t seed = 0; seed < std::size(kSpectra); seed += static_cast<std::uint32_t>(loops.lanes)) {
        const std::vector<Matrix> given = tile_of<T>(loops.lanes, m, n, false, seed);
        const int k = std::min(m, n);
        Batch<T> a(given), r(loops.lanes, m, n), q(loops.lanes, m, m);
        Aligned<T> tile(std::int64_t{m} * std::max(m, n) * loops.lanes), tau(k * loops.lanes);
        loops.pack(a.template lanes<const T>(loops.lanes), nullptr, {tile.data(), 1, m});
        loops.qr({tile.data(), 1, m}, m, n, tau.data());
        loops.unpack({tile.data(), 1, m}, nullptr, loops.lanes, r.template lanes<T>(loops.lanes));
        loops.form_q({tile.data(), 1, m}, m, m, k, tau.data());
        loops.unpack({tile.data(), 1, m}, nullptr, loops.lanes, q.template lanes<T>(loops.lanes));
        for (int l = 0; l < loops.lanes; ++l) {
          const auto i = static_cast<std::size_t>(l);
          Matrix upper = r.matrix(i);
          for (int row = 1; row < m; ++row) {
            for (int c = 0; c < std::min(row, n); ++c) upper.at(row, c) = 0;
          }
          ASSERT_LT(orthogonality<T>(q.matrix(i)), 4) << name_of(l, seed, n);
          ASSERT_LT(relative<T>(given[i], times(q.matrix(i), upper), m), 4) << name_of(l, seed, n);
        }
      }
    }
  }
}

/// Pivot size of LAPACK's izamax.
long double pivot_size(Long x) {
  return std::abs(x.real()) + std::abs(x.imag());
}
/// The steps of Gaussian elimination with the first largest pivot, in extended precision.
std::vector<std::int32_t> pivots_of(Matrix a) {
  std::vector<std::int32_t> pivots;
  for (std::int64_t j = 0; j < std::min(a.rows, a.columns); ++j) {
    std::int64_t best = j;
    for (std::int64_t r = j + 1; r < a.rows; ++r) {
      if (pivot_size(a.at(r, j)) > pivot_size(a.at(best, j))) best = r;
    }
    pivots.push_back(static_cast<std::int32_t>(best) + 1);
    for (std::int64_t c = 0; c < a.columns; ++c) std::swap(a.at(j, c), a.at(best, c));
    for (std::int64_t r = j + 1; r < a.rows && a.at(j, j) != Long(0); ++r) {
      const Long factor = a.at(r, j) / a.at(j, j);
      for (std::int64_t c = j; c < a.columns; ++c) a.at(r, c) -= factor * a.at(j, c);
    }
  }
  return pivots;
}

TYPED_TEST(LanesTest, LuHasThePivotsOfPartialPivoting) {
  using T = TypeParam;
  for (const LaneLoops<T>& loops : all_lane_loops<T>()) {
    for (const auto& [m, n] : std::vector<std::pair<int, int>>{{1, 1}, {2, 2}, {3, 7}, {7, 3}, {13, 13}, {21, 21}}) {
      std::vector<Matrix> given;
      for (int l = 0; l < loops.lanes; ++l)
        given.push_back(matrix_of<T>(Spectrum::random, m, n, false, static_cast<std::uint32_t>(l)));
      given[1] = Matrix(m, n);  // zero: singular at once
      Batch<T> a(given), lu(loops.lanes, m, n);
      Aligned<T> tile(std::int64_t{m} * n * loops.lanes);
      const int k = std::min(m, n);
      std::vector<std::int32_t> pivots(static_cast<std::size_t>(k * loops.lanes));
      loops.pack(a.template lanes<const T>(loops.lanes), nullptr, {tile.data(), n, 1});
      Infos infos;
      loops.lu({tile.data(), n, 1}, m, n, pivots.data(), infos);
      loops.unpack({tile.data(), n, 1}, nullptr, loops.lanes, lu.template lanes<T>(loops.lanes));
      for (int l = 0; l < loops.lanes; ++l) {
        const auto i = static_cast<std::size_t>(l);
        ASSERT_EQ(infos[l], l == 1 ? 1 : 0);
        const std::vector<std::int32_t> expected = pivots_of(given[i]);
        const Matrix packed = lu.matrix(i);
        Matrix lower(m, k), upper(k, n), permuted = given[i];
        for (int r = 0; r < m; ++r) {
          for (int c = 0; c < n; ++c) {
            if (c < r && c < k) lower.at(r, c) = packed.at(r, c);
            if (c >= r) upper.at(r, c) = packed.at(r, c);
          }
          if (r < k) lower.at(r, r) = 1;
        }
        for (int s = 0; s < k; ++s) {
          ASSERT_EQ(pivots[static_cast<std::size_t>(s * loops.lanes + l)], expected[static_cast<std::size_t>(s)]);
          for (int c = 0; c < n; ++c)
            std::swap(permuted.at(s, c), permuted.at(expected[static_cast<std::size_t>(s)] - 1, c));
        }
        ASSERT_LT(relative<T>(permuted, times(lower, upper), m), 4);
      }
    }
  }
}

/// Solves A X = B in all lanes, and returns X.
template <class T>
std::vector<Matrix> solved(const LaneLoops<T>& loops, const std::vector<Matrix>& given, const std::vector<Matrix>& rhs,
                           Infos& infos) {
  const auto n = static_cast<int>(given[0].rows), columns = static_cast<int>(rhs[0].columns), rows = padded(n);
  Batch<T> a(given), b(rhs), x(loops.lanes, n, columns);
  Aligned<T> tile(std::int64_t{rows} * rows * loops.lanes), right(std::int64_t{rows} * columns * loops.lanes),
      scratch(solve_scratch(n, columns) * loops.lanes);
  std::fill_n(tile.data(), rows * rows * loops.lanes, std::numeric_limits<T>::quiet_NaN());
  std::fill_n(right.data(), rows * columns * loops.lanes, std::numeric_limits<T>::quiet_NaN());
  loops.pack(a.template lanes<const T>(loops.lanes), nullptr, {tile.data(), rows, 1});
  loops.pack(b.template lanes<const T>(loops.lanes), nullptr, {right.data(), columns, 1});
  const Tile<T> result =
      loops.solve({tile.data(), rows, 1}, n, {right.data(), columns, 1}, columns, scratch.data(), infos);
  loops.unpack(result, nullptr, loops.lanes, x.template lanes<T>(loops.lanes));
  std::vector<Matrix> all;
  for (int l = 0; l < loops.lanes; ++l) all.push_back(x.matrix(static_cast<std::size_t>(l)));
  return all;
}
/// |A X - B| over |A| |X|, n and a rounding error.
template <class T>
long double residual(const Matrix& a, const Matrix& x, const Matrix& b) {
  Matrix r = times(a, x);
  for (std::size_t i = 0; i < r.values.size(); ++i) r.values[i] -= b.values[i];
  const long double size = norm(a) * norm(x) * static_cast<long double>(a.rows) * kRealEpsilon<T>;
  return norm(r) / size;
}

/// True if all singular values are far above rounding errors.
bool is_regular(Spectrum s) {
  return s != Spectrum::graded && s != Spectrum::deficient && s != Spectrum::singular && s != Spectrum::zero;
}

TYPED_TEST(LanesTest, SolveOfSpectra) {
  using T = TypeParam;
  for (const LaneLoops<T>& loops : all_lane_loops<T>()) {
    if (loops.solve == nullptr) continue;
    for (const int n : {1, 2, 3, 4, 5, 8, 13, 32}) {
      for (std::uint32_t seed = 0; seed < std::size(kSpectra); seed += static_cast<std::uint32_t>(loops.lanes)) {
        for (const int columns : {1, 7}) {
          std::vector<Matrix> given = tile_of<T>(loops.lanes, n, n, false, seed), rhs;
          for (int l = 0; l < loops.lanes; ++l) {
            Matrix& a = given[static_cast<std::size_t>(l)];
            const Spectrum s = kSpectra[(l + seed) % std::size(kSpectra)];
            for (int i = 0; s == Spectrum::random && n > 1 && i < n; ++i) a.at(i, i) = 0;  // needs pivoting
            Matrix b = times(a, test::random_matrix(n, columns, false, seed + static_cast<std::uint32_t>(l)));
            for (Long& v : b.values) v = rounded<T>(v);
            rhs.push_back(b);
          }
          Infos infos;
          const std::vector<Matrix> x = solved<T>(loops, given, rhs, infos);
          for (int l = 0; l < loops.lanes; ++l) {
            const auto i = static_cast<std::size_t>(l);
            const bool zero = norm(given[i]) == 0;
            if (zero) {
              ASSERT_EQ(infos[l], 1) << name_of(l, seed, n);
            }
            if (is_regular(kSpectra[(static_cast<std::uint32_t>(l) + seed) % std::size(kSpectra)])) {
              ASSERT_EQ(infos[l], 0) << name_of(l, seed, n);
            }
            if (infos[l] != 0 || norm(rhs[i]) == 0) continue;
            ASSERT_LT(residual<T>(given[i], x[i], rhs[i]), 4) << name_of(l, seed, n);
          }
        }
      }
    }
  }
}

/// LAPACK's info by definition: exchanges rows, and rounds quotients and products to T.
template <class T>
int info_of(const Matrix& given) {
  const auto n = static_cast<std::size_t>(given.rows);
  std::vector<std::vector<T>> a(n, std::vector<T>(n));
  for (std::size_t i = 0; i < n * n; ++i) a[i / n][i % n] = static_cast<T>(given.values[i].real());
  int info = 0;
  for (std::size_t j = 0; j < n; ++j) {
    std::size_t best = j;
    for (std::size_t r = j + 1; r < n; ++r) best = std::abs(a[r][j]) > std::abs(a[best][j]) ? r : best;
    std::swap(a[j], a[best]);
    if (a[j][j] == T(0)) info = info == 0 ? static_cast<int>(j) + 1 : info;
    for (std::size_t r = j + 1; r < n && a[j][j] != T(0); ++r) {
      const T factor = a[r][j] / a[j][j];
      for (std::size_t c = j; c < n; ++c) {
        const T product = factor * a[j][c];
        a[r][c] -= product;
      }
    }
  }
  return info;
}

enum class Integers { arbitrary, equal_rows, equal_columns, neighbours, tree, star, equal_units };
constexpr Integers kIntegers[] = {Integers::arbitrary,  Integers::equal_rows, Integers::equal_columns,
                                  Integers::neighbours, Integers::tree,       Integers::star,
                                  Integers::equal_units};

/// All kinds except `any` are singular; a tree's leaves precede their parents, so that all pivots are 1.
Matrix integers(Integers kind, int n, std::mt19937& random) {
  std::uniform_int_distribution<int> digit(-9, 9);
  Matrix a(n, n);
  if (kind == Integers::equal_units) {
    for (int i = 0; i < n; ++i) a.at(i, i == n - 1 ? 0 : i) = i == n - 1 ? 0 : 1;
    a.at(0, n - 1) = 1;
  } else if (kind == Integers::tree || kind == Integers::star) {
    for (int i = 0; i + 1 < n; ++i) {
      const int to = kind == Integers::star ? n - 1 : std::uniform_int_distribution<int>(i + 1, n - 1)(random);
      a.at(i, i) += 1;
      a.at(to, to) += 1;
      a.at(i, to) = a.at(to, i) = -1;
    }
  } else {
    for (Long& x : a.values) x = digit(random);
    for (int i = 0; i < n && kind != Integers::arbitrary; ++i) {
      if (kind == Integers::equal_rows) a.at(n - 1, i) = a.at(0, i);
      if (kind == Integers::equal_columns) a.at(i, n - 1) = a.at(i, 0);
      if (kind == Integers::neighbours) a.at(i, 1) = a.at(i, 0);
    }
  }
  return a;
}

TYPED_TEST(LanesTest, SolveFindsSingularIntegers) {
  using T = TypeParam;
  for (const LaneLoops<T>& loops : all_lane_loops<T>()) {
    if (loops.solve == nullptr) continue;
    std::mt19937 random(1);
    for (const int n : {2, 3, 4, 5, 8, 9, 12, 13, 17, 32}) {
      for (int round = 0; round < 40; ++round) {
        std::vector<Matrix> given;
        for (int l = 0; l < loops.lanes; ++l)
          given.push_back(integers(kIntegers[static_cast<std::size_t>(l + round) % std::size(kIntegers)], n, random));
        const std::vector<Matrix> rhs(given.size(), test::random_matrix(n, 1, false, 1));
        Infos infos;
        const std::vector<Matrix> x = solved<T>(loops, given, rhs, infos);
        for (int l = 0; l < loops.lanes; ++l) {
          const auto i = static_cast<std::size_t>(l);
          const auto kind = static_cast<int>(kIntegers[(i + static_cast<std::size_t>(round)) % std::size(kIntegers)]);
          ASSERT_EQ(infos[l], info_of<T>(given[i])) << "kind " << kind << ", " << n << " rows, round " << round;
          if (infos[l] == 0) {
            ASSERT_LT(residual<T>(given[i], x[i], rhs[i]), 4) << n;
          }
        }
      }
    }
  }
}

TYPED_TEST(LanesTest, SolveKeepsBadMatricesInTheirLanes) {
  using T = TypeParam;
  for (const LaneLoops<T>& loops : all_lane_loops<T>()) {
    if (loops.solve == nullptr) continue;
    for (const int n : {1, 2, 3, 4, 6, 9}) {
      std::vector<Matrix> given, rhs;
      for (int l = 0; l < loops.lanes; ++l) {
        given.push_back(matrix_of<T>(Spectrum::random, n, n, false, static_cast<std::uint32_t>(l)));
        rhs.push_back(matrix_of<T>(Spectrum::random, n, 2, false, static_cast<std::uint32_t>(l) + 50));
      }
      given[0].at(n - 1, 0) = std::numeric_limits<long double>::quiet_NaN();
      for (int r = 0; r < n; ++r) given[1].at(r, n / 2) = 0;  // singular: this pivot is zero
      Infos infos;
      const std::vector<Matrix> x = solved<T>(loops, given, rhs, infos);
      for (const Long& v : x[0].values) ASSERT_TRUE(std::isnan(v.real())) << n;
      ASSERT_EQ(infos[1], n / 2 + 1);
      for (int l = 2; l < loops.lanes; ++l) {
        const auto i = static_cast<std::size_t>(l);
        ASSERT_EQ(infos[l], 0);
        ASSERT_LT(residual<T>(given[i], x[i], rhs[i]), 4) << n;
      }
    }
  }
}

TYPED_TEST(LanesTest, CholeskySaysWhichMinorIsNotPositive) {
  using T = TypeParam;
  for (const LaneLoops<T>& loops : all_lane_loops<T>()) {
    for (const int n : {1, 2, 3, 4, 6, 15, 21}) {
      std::vector<Matrix> given;
      for (int l = 0; l < loops.lanes; ++l) {
        const Matrix g = matrix_of<T>(Spectrum::random, n, n, false, static_cast<std::uint32_t>(l));
        Matrix a = times(g, adjoint(g)) + test::identity(n);
        for (Long& x : a.values) x = rounded<T>(x);
        given.push_back(a);
      }
      for (int bad = 0; bad < std::min(n, loops.lanes); ++bad) {
        given[static_cast<std::size_t>(bad)].at(bad, bad) =
            bad % 2 == 0 ? -1.0L : std::numeric_limits<long double>::quiet_NaN();
      }
      Batch<T> a(given), l(loops.lanes, n, n);
      Aligned<T> tile(std::int64_t{n} * n * loops.lanes);
      loops.pack(a.template lanes<const T>(loops.lanes), nullptr, {tile.data(), n, 1});
      Infos infos;
      loops.cholesky({tile.data(), n, 1}, n, infos);
      loops.unpack({tile.data(), n, 1}, nullptr, loops.lanes, l.template lanes<T>(loops.lanes));
      for (int lane = 0; lane < loops.lanes; ++lane) {
        const auto i = static_cast<std::size_t>(lane);
        ASSERT_EQ(infos[lane], lane < n ? lane + 1 : 0) << n;
        if (lane >= n) {
          ASSERT_LT(relative<T>(given[i], times(l.matrix(i), adjoint(l.matrix(i))), n), 4);
        }
      }
    }
  }
}

TYPED_TEST(LanesTest, NumbersThatAreNotFiniteStayInTheirLanes) {
  using T = TypeParam;
  for (const LaneLoops<T>& loops : all_lane_loops<T>()) {
    constexpr int n = 6;
    std::vector<Matrix> given;
    for (int l = 0; l < loops.lanes; ++l)
      given.push_back(matrix_of<T>(Spectrum::random, n, n, true, static_cast<std::uint32_t>(l)));
    given[0].at(3, 1) = std::numeric_limits<long double>::quiet_NaN();
    given[1].at(5, 5) = std::numeric_limits<long double>::infinity();
    Batch<T> a(given);
    Batch<RealPart<T>> w(loops.lanes, n, 1);
    Aligned<RealPart<T>> values(n * loops.lanes);
    Aligned<T> tile(n * n * loops.lanes), scratch(loops.svd_scratch(n, n) * loops.lanes);
    std::vector<std::int32_t> places(static_cast<std::size_t>(n * loops.lanes));
    Infos infos;
    for (const bool svd : {false, true}) {
      loops.pack(a.template lanes<const T>(loops.lanes), nullptr, {tile.data(), n, 1});
      if (svd) {
        loops.svd({tile.data(), 1, n}, n, n, values.data(), places.data(), {}, n, {}, scratch.data(), infos);
      } else {
        loops.eigh({tile.data(), n, 1}, n, values.data(), places.data(), {}, scratch.data(), infos);
      }
      unpack_values<T>(loops, values.data(), places.data(), w);
      for (int l = 0; l < loops.lanes; ++l) {
        const auto i = static_cast<std::size_t>(l);
        ASSERT_EQ(infos[l], l < 2);
        long double squares = 0;
        for (int k = 0; k < n; ++k) squares += std::norm(w.matrix(i).at(k, 0));
        if (l >= 2) {
          ASSERT_NEAR(static_cast<double>(std::sqrt(squares) / norm(given[i])), 1,
                      std::numeric_limits<RealPart<T>>::epsilon() * 16);
        }
      }
    }
  }
}

/// The largest relative errors of A = Q V Q^T (or U S V^T, Q R) and of the orthonormal factors, over a batch.
struct Errors {
  long double product = 0, factors = 0;
};

template <class T>
DType type_of() {
  if (kComplex<T>) return std::is_same_v<RealPart<T>, float> ? DType::c64 : DType::c128;
  return std::is_same_v<T, float> ? DType::f32 : DType::f64;
}

template <class T>
Errors errors_of(Op op, const std::vector<Matrix>& given) {
  const std::int64_t n = given[0].rows;
  test::NodeRun run(op);
  if (op == Op::qr) run.set(AttrKey::mode, 0);
  run.input(type_of<T>(), {static_cast<std::int64_t>(given.size()), n, n}, test::numbers(given));
  run.run();
  Errors worst;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const Matrix q = test::matrix_of(run, op == Op::eigh ? 1 : 0, i);
    Matrix right = op == Op::eigh ? adjoint(q) : test::matrix_of(run, op == Op::svd ? 2 : 1, i), product;
    if (op == Op::qr) {
      product = times(q, right);
    } else {
      product = times(times(q, test::diagonal(test::vector_of(run, op == Op::svd ? 1 : 0, i))), right);
    }
    worst.product = std::max(worst.product, relative<T>(given[i], product, n));
    worst.factors = std::max(worst.factors, orthogonality<T>(q));
    if (op == Op::svd) worst.factors = std::max(worst.factors, orthogonality<T>(adjoint(right)));
  }
  return worst;
}

/// LAPACK computes a single matrix.
TYPED_TEST(LanesTest, ErrorsAreAtMostTwiceThoseOfLapack) {
  using T = TypeParam;
  for (const Op op : {Op::eigh, Op::svd, Op::qr}) {
    for (const std::int64_t n : {9, 24}) {
      for (const Spectrum s : kSpectra) {
        std::vector<Matrix> batch;
        for (std::uint32_t seed = 0; seed < 8; ++seed) batch.push_back(matrix_of<T>(s, n, n, op == Op::eigh, seed));
        const Errors lanes = errors_of<T>(op, batch);
        Errors alone;
        for (const Matrix& a : batch) {
          const Errors e = errors_of<T>(op, {a});
          alone.product = std::max(alone.product, e.product);
          alone.factors = std::max(alone.factors, e.factors);
        }
        if (std::getenv("TERN_TEST_ERRORS") != nullptr) {
          std::printf("%d n %2d spectrum %d: product %.3Lf, LAPACK %.3Lf; factors %.3Lf, LAPACK %.3Lf\n",
                      static_cast<int>(op), static_cast<int>(n), static_cast<int>(s), lanes.product, alone.product,
                      lanes.factors, alone.factors);
        }
        EXPECT_LE(lanes.product, 2 * alone.product + 0.1L)
            << op_name(op) << " spectrum " << static_cast<int>(s) << " n " << n;
        EXPECT_LE(lanes.factors, 2 * alone.factors + 0.1L)
            << op_name(op) << " spectrum " << static_cast<int>(s) << " n " << n;
      }
    }
  }
}

}  // namespace
}  // namespace tern::cpu::lanes
