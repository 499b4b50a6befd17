// svd: LAPACK's gesdd on A^T, since row-major A is A^T in column-major order: its left vectors are then Vh row-major,
// its right vectors U, without a transposition. Real square matrices use LAPACK's steps (gebrd, bdsdc), and Tern's
// products for the back transformation.
#include "kernels/cpu/linalg/back_transform.h"
#include "kernels/cpu/linalg/batch.h"
#include "kernels/cpu/linalg/lanes/lanes.h"
#include "kernels/cpu/linalg/lapack.h"
#include "kernels/cpu/linalg/linalg.h"

namespace tern::cpu {
namespace {

template <class T>
void identity(T* to, std::int64_t n) {
  std::fill_n(to, n * n, T(0));
  for (std::int64_t i = 0; i < n; ++i) to[i * n + i] = T(1);
}

template <class T>
struct SvdJob {
  using R = lapack::RealPart<T>;
  static constexpr bool kIsReal = !lapack::kIsComplex<T>;

  explicit SvdJob(const KernelCall& call)
      : c(&call),
        count(batch_count(call.in[0], 2)),
        a(call.in[0], 2, call.in[0], 2),
        m(lapack_size(a.rows)),
        n(lapack_size(a.columns)),
        k(lapack_size(std::min(m, n), 10)),
        full(call.node->integer(AttrKey::full) != 0),
        vectors(call.wants_output(0) || call.wants_output(2)) {
    job = !vectors ? 'N' : full ? 'A' : 'S';
    flops = 10.0 * m * n * k;
    if (k == 0) return;
    T answer(0);
    R ignored(0);
    int integers[8];
    lapack::gesdd(job, n, m, nullptr, n, &ignored, nullptr, n, nullptr, full ? m : k, &answer, -1, &ignored, integers);
    work_length = std::max(1, work_size(answer));
    if (uses_steps()) work_length = std::max(work_length, 3 * n * n + 7 * n + static_cast<int>(reflections_work(n)));
    const std::int64_t small = k, large = std::max(m, n);
    real_length = !lapack::kIsComplex<T> ? 0
                  : !vectors             ? 7 * small
                             : std::max(5 * small * small + 5 * small, 2 * large * small + 2 * small * small + small);
  }
  bool uses_steps() const { return kIsReal && vectors && m == n && n >= 64; }
  int compute_in_steps(T* u, T* v) {
    int info = 0;
    if constexpr (kIsReal) {
      T *beside = work, *tau_v = work + n, *tau_u = tau_v + n, *rest = tau_u + n;
      lapack::gebrd(n, matrix, values, beside, tau_v, tau_u, rest, work_length - 3 * n);
      info = lapack::bdsdc(n, values, beside, v, u, rest, integer_work);
      apply_reflections<T, false>(n, 0, matrix, tau_v, v, rest);
      apply_reflections<T, true>(n, 1, matrix, tau_u, u, rest);
    }
    return info;
  }
  std::int64_t size_u() const { return static_cast<std::int64_t>(m) * (full ? m : k); }
  std::int64_t size_v() const { return static_cast<std::int64_t>(n) * (full ? n : k); }
  void allocate(ScratchArena& arena) {
    matrix = arena.allocate<T>(a.rows * a.columns);
    values = arena.allocate<R>(k);
    own_u = arena.allocate<T>(vectors ? size_u() : 0);
    own_v = arena.allocate<T>(vectors ? size_v() : 0);
    work = arena.allocate<T>(work_length);
    real_work = arena.allocate<R>(real_length);
    integer_work = arena.allocate<int>(8 * static_cast<std::int64_t>(k));
  }
  void compute_matrix(std::int64_t i, Failure& failure) {
    T* u = output<T>(*c, 0, i, size_u());
    T* v = output<T>(*c, 2, i, size_v());
    if (k == 0) {  // any orthonormal vectors suffice
      if (u != nullptr && full) identity(u, m);
      if (v != nullptr && full) identity(v, n);
      return;
    }
    a.copy_rows(i, matrix);
    if (!all_finite(matrix, a.rows * a.columns)) return failure.report(i, Failure::Kind::not_finite);
    if (u == nullptr) u = own_u;
    if (v == nullptr) v = own_v;
    R most(0);
    for (std::int64_t e = 0; uses_steps() && e < a.rows * a.columns; ++e) most = std::max(most, std::abs(matrix[e]));
    const int info = uses_steps() && !is_scaled(most)
                         ? compute_in_steps(u, v)
                         : lapack::gesdd(job, n, m, matrix, n, values, v, n, u, full ? m : k, work, work_length,
                                         real_work, integer_work);
    if (info != 0) return failure.report(i, Failure::Kind::no_singular_values);
    if (R* out = output<R>(*c, 1, i, k)) std::copy(values, values + k, out);
  }

  const KernelCall* c;
  std::int64_t count;
  double flops = 0;
  BatchOperand a;
  int m, n, k;
  bool full, vectors;
  char job = 'N';
  int work_length = 1;
  std::int64_t real_length = 0;
  T *matrix = nullptr, *own_u = nullptr, *own_v = nullptr, *work = nullptr;
  R *values = nullptr, *real_work = nullptr;
  int* integer_work = nullptr;
};

}  // namespace

Kernel svd_kernel() {
  return lanes::kernel_with<lanes::Svd, SvdJob, 4>();
}

}  // namespace tern::cpu
