// matrix_exp: Pade approximants of degree 3 to 13 (Higham 2005), chosen by norm and type; scaling and squaring for
// large norms. float32 and complex64 use double precision for squarings, which amplify rounding errors. exp(A^T) =
// exp(A)^T, so either element order works.
#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "dtypes/checked.h"
#include "kernels/cpu/linalg/batch.h"
#include "kernels/cpu/linalg/lapack.h"
#include "kernels/cpu/linalg/linalg.h"

namespace tern::cpu {
namespace {

// Coefficients of the numerators, from the constant.
constexpr double kPade3[] = {120, 60, 12, 1};
constexpr double kPade5[] = {30240, 15120, 3360, 420, 30, 1};
constexpr double kPade7[] = {17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1};
constexpr double kPade9[] = {17643225600, 8821612800, 2075673600, 302702400, 30270240, 2162160, 110880, 3960, 90, 1};
constexpr double kPade13[] = {64764752532480000.0,
                              32382376266240000.0,
                              7771770303897600.0,
                              1187353796428800.0,
                              129060195264000.0,
                              10559470521600.0,
                              670442572800.0,
                              33522128640.0,
                              1323241920.0,
                              40840800.0,
                              960960.0,
                              16380.0,
                              182.0,
                              1.0};

struct Approximant {
  int degree;
  double theta;  ///< largest 1-norm with an error below the type's epsilon
  const double* pade;
};
// Table 2.3 of Higham (2005), and his limits for single precision.
constexpr Approximant kOfDouble[] = {{3, 1.495585217958292e-2, kPade3},
                                     {5, 2.539398330063230e-1, kPade5},
                                     {7, 9.504178996162932e-1, kPade7},
                                     {9, 2.097847961257068, kPade9},
                                     {13, 5.371920351148152, kPade13}};
constexpr Approximant kOfFloat[] = {
    {3, 4.258730016922831e-1, kPade3}, {5, 1.880152677804762, kPade5}, {7, 3.925724783138660, kPade7}};

/// Returns the smallest sufficient approximant, or the largest.
const Approximant& approximant_for(bool is_double, double norm) {
  const std::span<const Approximant> all = is_double ? std::span<const Approximant>(kOfDouble) : kOfFloat;
  const auto found = std::ranges::find_if(all, [&](const Approximant& p) { return norm <= p.theta; });
  return found == all.end() ? all.back() : *found;
}

/// Exponentials of matrices of W in the first of seven buffers.
template <class W>
struct Exponential {
  using R = lapack::RealPart<W>;

  int n;
  std::int64_t size;
  W* m[7];
  int* pivots;

  void multiply(const W* x, const W* y, W* to) const { lapack::square_product(n, x, y, to); }
  /// Computes the first `terms` terms of c[0] I + c[2] A2 + c[4] A4 + c[6] A6; without c[0] if not `identity`.
  void combine(const double* c, int terms, bool identity, W* to) const {
    std::array<R, 4> p = {};
    for (int k = 0; k < terms; ++k) p[static_cast<std::size_t>(k)] = static_cast<R>(c[2 * k]);
    for (std::int64_t i = 0; i < size; ++i) {
      W sum = p[1] * m[1][i];
      if (terms > 2) sum = p[2] * m[2][i] + sum;
      if (terms > 3) sum = p[3] * m[3][i] + sum;
      to[i] = sum;
    }
    if (!identity) return;
    for (std::int64_t i = 0; i < n; ++i) to[i * n + i] += p[0];
  }
  /// Computes the odd part in m[4] and the even part in m[6].
  void compute_parts(const Approximant& a) const {
    const double* c = a.pade;
    W *u = m[4], *v = m[5], *t = m[6];
    multiply(m[0], m[0], m[1]);  // A2, A4, A6
    if (a.degree >= 5) multiply(m[1], m[1], m[2]);
    if (a.degree >= 7) multiply(m[1], m[2], m[3]);
    if (a.degree < 9) {
      combine(c + 1, (a.degree + 1) / 2, true, v);
      multiply(m[0], v, u);
      return combine(c, (a.degree + 1) / 2, true, t);
    }
    if (a.degree == 9) {
      multiply(m[2], m[2], t);  // A8
      combine(c + 1, 4, true, v);
      for (std::int64_t k = 0; k < size; ++k) v[k] += static_cast<R>(c[9]) * t[k];
      multiply(m[0], v, u);
      combine(c, 4, true, v);
      for (std::int64_t k = 0; k < size; ++k) t[k] = v[k] + static_cast<R>(c[8]) * t[k];
      return;
    }
    combine(c + 7, 4, false, t);  // A6 (b13 A6 + b11 A4 + b9 A2) + b7 A6 + ...
    multiply(m[3], t, v);
    combine(c + 1, 4, true, t);
    for (std::int64_t k = 0; k < size; ++k) v[k] += t[k];
    multiply(m[0], v, u);
    combine(c + 6, 4, false, t);
    multiply(m[3], t, v);
    combine(c, 4, true, t);
    for (std::int64_t k = 0; k < size; ++k) t[k] += v[k];
  }
  /// Returns the buffer of the exponential.
  const W* run(const Approximant& a, int halvings) {
    if (halvings > 0) {
      const R scale = static_cast<R>(std::ldexp(1.0, -halvings));
      for (std::int64_t k = 0; k < size; ++k) m[0][k] *= scale;
    }
    compute_parts(a);
    W *u = m[4], *v = m[5], *t = m[6];
    for (std::int64_t k = 0; k < size; ++k) {
      v[k] = t[k] - u[k];
      u[k] = t[k] + u[k];
    }
    lapack::getrf(n, n, v, n, pivots);
    lapack::getrs(n, n, v, n, pivots, u, n);
    for (int k = 0; k < halvings; ++k) {
      multiply(u, u, t);
      std::swap(u, t);
    }
    return u;
  }
};

template <class T>
struct ExpJob {
  static constexpr bool kDouble = std::is_same_v<lapack::RealPart<T>, double>;
  using W = std::conditional_t<lapack::kIsComplex<T>, std::complex<double>, double>;

  explicit ExpJob(const KernelCall& call)
      : c(&call), count(batch_count(call.in[0], 2)), a(call.in[0], 2, call.in[0], 2), n(lapack_size(a.rows)) {
    flops = 30.0 * n * n * n;
  }
  void allocate(ScratchArena& arena) {
    read = arena.allocate<T>(size());
    memory = arena.allocate<W>(7 * size());
    pivots = arena.allocate<int>(n);
  }
  std::int64_t size() const { return a.rows * a.columns; }

  double norm() const {  // largest column sum; NaN if any element is NaN
    double largest = 0;
    for (std::int64_t col = 0; col < n; ++col) {
      double sum = 0;
      for (std::int64_t r = 0; r < n; ++r) sum += static_cast<double>(std::abs(read[col * n + r]));
      if (!(sum <= largest)) largest = sum;
      if (std::isnan(sum)) return sum;
    }
    return largest;
  }
  template <class U>
  void exponential(const Approximant& approximant, int halvings, T* out) const {
    Exponential<U> e = {n, size(), {}, pivots};
    for (std::int64_t k = 0; k < 7; ++k) e.m[k] = reinterpret_cast<U*>(memory) + k * size();
    std::transform(read, read + size(), e.m[0], [](T x) { return static_cast<U>(x); });
    const U* found = e.run(approximant, halvings);
    std::transform(found, found + size(), out, [](U x) { return static_cast<T>(x); });
  }
  void compute_matrix(std::int64_t i, Failure&) {
    T* out = output<T>(*c, 0, i, size());
    if (out == nullptr || n == 0) return;
    a.copy_rows(i, read);
    const double length = norm();
    if (!std::isfinite(length)) {
      std::fill_n(out, size(), T(std::numeric_limits<lapack::RealPart<T>>::quiet_NaN()));
      return;
    }
    const Approximant& approximant = approximant_for(kDouble, length);
    const double theta = approximant.theta;
    if (length <= theta) return exponential<T>(approximant, 0, out);
    exponential<W>(approximant, std::max(0, clamped_to<int>(std::ceil(std::log2(length / theta)))), out);
  }

  const KernelCall* c;
  std::int64_t count;
  double flops = 0;
  BatchOperand a;
  int n;
  T* read = nullptr;
  W* memory = nullptr;
  int* pivots = nullptr;
};

}  // namespace

Kernel matrix_exp_kernel() {
  return job_kernel<ExpJob, 4>();
}

}  // namespace tern::cpu
