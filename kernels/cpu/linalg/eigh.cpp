// eigh: LAPACK's divide and conquer (syevd, heevd). Real eigenvectors use LAPACK's steps (sytrd, stedc), and Tern's
// products for the back transformation.
#include <cmath>

#include "kernels/cpu/linalg/back_transform.h"
#include "kernels/cpu/linalg/batch.h"
#include "kernels/cpu/linalg/lanes/lanes.h"
#include "kernels/cpu/linalg/lapack.h"
#include "kernels/cpu/linalg/linalg.h"

namespace tern::cpu {
namespace {

template <class T>
struct EighJob {
  using R = lapack::RealPart<T>;
  static constexpr bool kIsReal = !lapack::kIsComplex<T>;

  explicit EighJob(const KernelCall& call)
      : c(&call),
        count(batch_count(call.in[0], 2)),
        a(call.in[0], 2, call.in[0], 2),
        vectors(call.wants_output(1)),
        n(lapack_size(a.rows, vectors ? 3 : 0)),
        upper(call.node->integer(AttrKey::upper) != 0) {
    flops = 9.0 * n * n * n;
    if (n == 0) return;
    // Workspace sizes from LAPACK's documentation, for blocks of at most 64 reflections.
    const int squares = vectors ? 2 * n * n : 0;
    work_length = 4096 + 200 * n + squares;
    real_length = !kIsReal ? 1 + 5 * n + squares : 1;
    integer_length = 3 + 5 * n;
  }
  void allocate(ScratchArena& arena) {
    matrix = arena.allocate<T>(a.rows * a.columns);
    values = arena.allocate<R>(n);
    work = arena.allocate<T>(work_length);
    real_work = arena.allocate<R>(real_length);
    integer_work = arena.allocate<int>(integer_length);
  }
  void compute_matrix(std::int64_t i, Failure& failure) {
    if (n == 0) return;
    const bool rows = kIsReal && upper;  // the upper triangle in rows is the lower in columns
    rows ? a.copy_rows(i, matrix) : a.copy_columns(i, matrix, n);
    const bool lower = kIsReal || !upper;
    // Only one triangle is read; the other may hold anything.
    R most(0);
    for (std::int64_t col = 0; col < n; ++col) {
      const std::int64_t begin = lower ? col : 0, end = lower ? n : col + 1;
      const T* at = matrix + col * n;
      if (!all_finite(at + begin, end - begin)) return failure.report(i, Failure::Kind::not_finite);
      for (std::int64_t r = begin; kIsReal && r < end; ++r) most = std::max(most, std::abs(at[r]));
    }
    const T* found = matrix;
    int info = 0;
    if (kIsReal && vectors && n >= 32 && !is_scaled(most)) {
      found = work + 2 * n;
      info = solve_in_steps(work + 2 * n);
    } else {
      info = lapack::heevd(vectors ? 'V' : 'N', lower ? 'L' : 'U', n, matrix, n, values, work, work_length, real_work,
                           real_length, integer_work, integer_length);
    }
    if (info != 0) return failure.report(i, Failure::Kind::no_convergence);
    if (R* out = output<R>(*c, 0, i, n)) std::copy(values, values + n, out);
    if (T* out = output<T>(*c, 1, i, a.rows * a.columns)) store_columns(found, n, n, n, out);
  }
  int solve_in_steps(T* z) {
    int info = 0;
    if constexpr (kIsReal) {
      T *beside = work, *tau = work + n, *rest = z + static_cast<std::int64_t>(n) * n;
      const int length = work_length - 2 * n - n * n;
      lapack::sytrd(n, matrix, n, values, beside, tau, rest, length);
      info = lapack::stedc(n, values, beside, z, n, rest, length, integer_work, integer_length);
      apply_reflections<T, false>(n, 1, matrix, tau, z, rest);
    }
    return info;
  }

  const KernelCall* c;
  std::int64_t count;
  double flops = 0;
  BatchOperand a;
  bool vectors;
  int n;
  bool upper;
  int work_length = 1, real_length = 1, integer_length = 1;
  T *matrix = nullptr, *work = nullptr;
  R *values = nullptr, *real_work = nullptr;
  int* integer_work = nullptr;
};

}  // namespace

Kernel eigh_kernel() {
  return lanes::kernel_with<lanes::Eigh, EighJob, 4>();
}

}  // namespace tern::cpu
