// matrix_exp: scaling and squaring with the Pade approximant of degree 13 (Higham 2005), in double precision for every
// type. exp(A^T) = exp(A)^T, so either element order works.
#include <cmath>

#include "dtypes/checked.h"
#include "kernels/cpu/linalg/batch.h"
#include "kernels/cpu/linalg/lapack.h"
#include "kernels/cpu/linalg/linalg.h"

namespace tern::cpu {
namespace {

// Coefficients of the numerator, and the largest norm for double-precision accuracy of the approximant.
constexpr double kPade[14] = {64764752532480000.0,
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
constexpr double kTheta = 5.371920351148152;

template <class T>
struct ExpJob {
  using W = std::conditional_t<lapack::kIsComplex<T>, std::complex<double>, double>;

  explicit ExpJob(const KernelCall& call)
      : c(&call), count(batch_count(call.in[0], 2)), a(call.in[0], 2, call.in[0], 2), n(lapack_size(a.rows)) {
    flops = 30.0 * n * n * n;
  }
  void cut(ScratchParts& parts) {
    read = parts.take<T>(size());
    for (W*& p : m) p = parts.take<W>(size());
    pivots = parts.take<int>(n);
  }
  std::int64_t size() const { return a.rows * a.columns; }
  void multiply(const W* x, const W* y, W* to) const { lapack::square_product(n, x, y, to); }

  double norm() const {  // largest column sum; NaN if any element is NaN
    double largest = 0;
    for (std::int64_t col = 0; col < n; ++col) {
      double sum = 0;
      for (std::int64_t r = 0; r < n; ++r) sum += std::abs(m[0][col * n + r]);
      if (!(sum <= largest)) largest = sum;
      if (std::isnan(sum)) return sum;
    }
    return largest;
  }
  /// to = p6 A6 + p4 A4 + p2 A2 + p0 I, with coefficients kPade[at + 6], [at + 4] ...
  void combine(int at, bool identity, W* to) const {
    const auto p = [&](int k) { return kPade[at + k]; };
    for (std::int64_t i = 0; i < size(); ++i) to[i] = p(6) * m[3][i] + p(4) * m[2][i] + p(2) * m[1][i];
    if (!identity) return;
    for (std::int64_t i = 0; i < n; ++i) to[i * n + i] += p(0);
  }
  void one(std::int64_t i, Failure&) {
    T* out = output<T>(*c, 0, i, size());
    if (out == nullptr || n == 0) return;
    a.copy_rows(i, read);
    for (std::int64_t k = 0; k < size(); ++k) m[0][k] = static_cast<W>(read[k]);
    const double length = norm();
    if (!std::isfinite(length)) {
      std::fill_n(out, size(), T(std::numeric_limits<double>::quiet_NaN()));
      return;
    }
    const int halvings = length > kTheta ? std::max(0, clamped_to<int>(std::ceil(std::log2(length / kTheta)))) : 0;
    for (std::int64_t k = 0; k < size(); ++k) m[0][k] *= std::ldexp(1.0, -halvings);
    multiply(m[0], m[0], m[1]);  // A2, A4, A6
    multiply(m[1], m[1], m[2]);
    multiply(m[1], m[2], m[3]);
    W *u = m[4], *v = m[5], *t = m[6];
    combine(7, false, t);  // b13 A6 + b11 A4 + b9 A2
    multiply(m[3], t, v);
    combine(1, true, t);
    for (std::int64_t k = 0; k < size(); ++k) v[k] += t[k];
    multiply(m[0], v, u);  // U, the odd part
    combine(6, false, t);  // b12 A6 + b10 A4 + b8 A2
    multiply(m[3], t, v);
    combine(0, true, t);
    for (std::int64_t k = 0; k < size(); ++k) {
      const W even = v[k] + t[k];
      v[k] = even - u[k];
      u[k] = even + u[k];
    }
    lapack::getrf(n, n, v, n, pivots);
    lapack::getrs(n, n, v, n, pivots, u, n);
    for (int k = 0; k < halvings; ++k) {
      multiply(u, u, t);
      std::swap(u, t);
    }
    for (std::int64_t k = 0; k < size(); ++k) out[k] = static_cast<T>(u[k]);
  }

  const KernelCall* c;
  std::int64_t count;
  double flops = 0;
  BatchOperand a;
  int n;
  T* read = nullptr;
  W* m[7] = {};
  int* pivots = nullptr;
};

}  // namespace

Kernel matrix_exp_kernel() {
  return job_kernel<ExpJob, 4>();
}

}  // namespace tern::cpu
