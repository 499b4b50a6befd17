// lstsq of matrices with known singular values: the shortest of the best solutions, and the rank, for every rank test
// of the kernel.
#include <bit>
#include <cmath>

#include "schema/linalg_kinds.h"
#include "tests/kernels/matrix.h"

namespace tern::test {
namespace {

/// Reflects the columns of c: subtracts twice the component along v. A second reflection restores c.
void reflect(const std::vector<Long>& v, Matrix& c) {
  for (std::int64_t j = 0; j < c.columns; ++j) {
    Long part = 0;
    for (std::int64_t r = 0; r < c.rows; ++r) part += std::conj(v[static_cast<std::size_t>(r)]) * c.at(r, j);
    for (std::int64_t r = 0; r < c.rows; ++r) c.at(r, j) -= 2.0L * part * v[static_cast<std::size_t>(r)];
  }
}

/// U S V^H with two reflections U and V of their own.
struct KnownSvd {
  std::vector<Long> u, v;
  std::vector<long double> s;

  KnownSvd(std::int64_t m, std::int64_t n, bool complex, std::uint32_t seed)
      : u(direction(m, complex, seed)), v(direction(n, complex, seed + 1)) {}
  static std::vector<Long> direction(std::int64_t n, bool complex, std::uint32_t seed) {
    std::vector<Long> x = random_matrix(n, 1, complex, seed).values;
    x[0] += 3;
    long double squares = 0;
    for (const Long& e : x) squares += std::norm(e);
    for (Long& e : x) e /= std::sqrt(squares);
    return x;
  }
  Matrix matrix() const {
    Matrix t(static_cast<std::int64_t>(v.size()), static_cast<std::int64_t>(u.size()));
    for (std::size_t i = 0; i < s.size(); ++i) t.at(static_cast<std::int64_t>(i), static_cast<std::int64_t>(i)) = s[i];
    reflect(v, t);
    Matrix a = adjoint(t);
    reflect(u, a);
    return a;
  }
  /// The shortest best x for the first `rank` singular values.
  Matrix solution(Matrix b, std::int64_t rank) const {
    reflect(u, b);
    Matrix x(static_cast<std::int64_t>(v.size()), b.columns);
    for (std::int64_t r = 0; r < rank; ++r) {
      for (std::int64_t c = 0; c < b.columns; ++c) x.at(r, c) = b.at(r, c) / s[static_cast<std::size_t>(r)];
    }
    reflect(v, x);
    return x;
  }
};

struct Size {
  std::int64_t m, n, columns;
};
constexpr Size kSizes[] = {{1, 1, 1},   {3, 3, 2},    {12, 12, 1}, {13, 9, 3},   {9, 13, 3},
                           {32, 32, 1}, {40, 33, 20}, {97, 97, 1}, {140, 90, 1}, {90, 140, 2}};
/// A single matrix, and enough matrices for a lane each.
constexpr int kBatches[] = {1, 18};

class LstsqTest : public LinalgTest {
 protected:
  long double rcond() const { return real_type() == DType::f32 ? 1e-4L : 1e-9L; }

  /// `least(i)`: the last singular value of matrix i over the first. Numbers in A are about 1, times the scales.
  template <class Least>
  void check(Least least, double scale = 1, double b_scale = 1) {
    for (const Size& size : kSizes) {
      for (const int count : kBatches) {
        if (count > 1 && size.m > 40) continue;
        one_size(size, count, least, scale, b_scale);
      }
    }
  }
  template <class Least>
  void one_size(const Size& size, int count, Least least, double scale, double b_scale) {
    const std::int64_t k = std::min(size.m, size.n);
    std::vector<KnownSvd> known;
    std::vector<Matrix> a, b;
    for (int i = 0; i < count; ++i) {
      KnownSvd now(size.m, size.n, complex(), static_cast<std::uint32_t>(10 * i + 1));
      for (std::int64_t j = 0; j < k; ++j)
        now.s.push_back(scale * (2 - static_cast<long double>(j) / static_cast<long double>(k)));
      if (k > 1) now.s.back() = now.s[0] * least(i);
      a.push_back(now.matrix());
      b.push_back(random_matrix(size.m, size.columns, complex(), static_cast<std::uint32_t>(10 * i + 5)));
      for (Long& x : b.back().values) x *= b_scale;
      known.push_back(std::move(now));
    }
    NodeRun run(Op::lstsq);
    run.set(AttrKey::mode, static_cast<int>(LstsqKind::gelsy));
    run.set_number(AttrKey::epsilon, {static_cast<double>(rcond())});
    input(run, a);
    input(run, b);
    run.run();
    for (int i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const bool full = k == 1 || least(i) > rcond();
      const long double condition = full && k > 1 ? std::max(2.0L, 1 / least(i)) : 2;
      EXPECT_EQ(run.output(2)[at], Number(static_cast<double>(full ? k : k - 1)))
          << size.m << ' ' << size.n << ' ' << i;
      const Matrix expected = known[at].solution(b[at], full ? k : k - 1);
      // A rounding error in A changes the solution by the square of the condition number if b lies outside A's range;
      // with a column less, the truncated part of QR changes the solution, too.
      const long double unit = static_cast<long double>(b_scale) / static_cast<long double>(scale);
      const long double limit = tolerance(k, 4 * condition * condition) + (full ? 0 : 20 * least(i));
      EXPECT_LT(difference(matrix_of(run, 0, at), expected) / unit, limit) << size.m << ' ' << size.n << ' ' << i;
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Types, LstsqTest, kLinalgTypes, type_name);

TEST_P(LstsqTest, FullRank) {
  check([](int) { return 0.3L; });
}
TEST_P(LstsqTest, LastValuesOnBothSidesOfTheLimit) {
  check([this](int i) { return rcond() * (i % 3 == 0 ? 0.02L : 50); });
}
TEST_P(LstsqTest, AColumnLess) {
  check([](int i) { return i % 2 == 0 ? 0 : 0.5L; });
}
TEST_P(LstsqTest, OfAllSizes) {
  const double far = real_type() == DType::f32 ? 0x1p70 : 0x1p700;
  for (const double scale : {1 / far, far}) {
    check([](int) { return 0.4L; }, scale, 1);
    check([](int) { return 0.4L; }, 1, scale);
    check([](int i) { return i % 2 == 0 ? 0 : 0.5L; }, scale, scale);
  }
}

/// Structured singular vectors: rows of Hadamard's matrix, each pair as the first and the last.
TEST_P(LstsqTest, SingularVectorsOfSigns) {
  for (const std::int64_t n : {2, 4, 8, 16}) {
    const auto sign = [](std::int64_t r, std::int64_t c) {
      return std::popcount(static_cast<std::uint64_t>(r & c)) % 2 == 0 ? 1 : -1;
    };
    std::vector<Matrix> a, b;
    for (std::int64_t first = 0; first < n; ++first) {
      for (std::int64_t last = 0; last < n; ++last) {
        if (first == last) continue;
        Matrix now(n, n);
        for (std::int64_t r = 0; r < n; ++r) {
          for (std::int64_t c = 0; c < n; ++c) {
            for (std::int64_t i = 0; i < n; ++i) {
              const long double s = i == first ? 1 : i == last ? rcond() / 8 : 0.25L;
              now.at(r, c) += s * sign(r, i) * sign(c, i) / static_cast<long double>(n);
            }
          }
        }
        a.push_back(now);
        b.push_back(random_matrix(n, 1, complex(), 3));
      }
    }
    NodeRun run(Op::lstsq);
    run.set(AttrKey::mode, static_cast<int>(LstsqKind::gelsy));
    run.set_number(AttrKey::epsilon, {static_cast<double>(rcond())});
    input(run, a);
    input(run, b);
    run.run();
    for (std::size_t i = 0; i < a.size(); ++i)
      EXPECT_EQ(run.output(2)[i], Number(static_cast<double>(n - 1))) << n << ' ' << i;
  }
}

/// Matrices of few columns may have as many rows as memory holds.
TEST_P(LstsqTest, WorkspacesDoNotGrowWithRows) {
  constexpr std::int64_t m = 40000, n = 3;
  Matrix a = random_matrix(m, n, complex(), 1);
  for (std::int64_t i = 0; i < n; ++i) a.at(i, i) += 100;
  const auto in = static_cast<std::size_t>(m * n) * static_cast<std::size_t>(element_size(type()));
  NodeRun lstsq(Op::lstsq), qr(Op::qr);
  lstsq.set(AttrKey::mode, static_cast<int>(LstsqKind::gelsy));
  lstsq.set_number(AttrKey::epsilon, {static_cast<double>(rcond())});
  qr.set(AttrKey::mode, static_cast<int>(QrKind::reduced));
  input(lstsq, {a});
  input(lstsq, {a});
  input(qr, {a});
  EXPECT_LT(lstsq.run().scratch_bytes(), 3 * in);
  EXPECT_LT(difference(matrix_of(lstsq, 0), identity(n)), tolerance(100));
  EXPECT_LT(qr.run().scratch_bytes(), 3 * in);
}

TEST_P(LstsqTest, RefusesWhatIsNotFinite) {
  for (const bool in_matrix : {true, false}) {
    for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
      std::vector<Matrix> a, b;
      for (std::uint32_t i = 0; i < 18; ++i) {
        a.push_back(random_matrix(8, 8, complex(), i) + identity(8));
        b.push_back(random_matrix(8, 1, complex(), i + 50));
      }
      (in_matrix ? a : b)[5].at(3, 0) = bad;
      NodeRun run(Op::lstsq);
      run.set(AttrKey::mode, static_cast<int>(LstsqKind::gelsy));
      run.set_number(AttrKey::epsilon, {1e-6});
      input(run, a);
      input(run, b);
      EXPECT_THROW(run.run(), Error);
    }
  }
}

}  // namespace
}  // namespace tern::test
