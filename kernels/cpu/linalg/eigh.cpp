// eigh: LAPACK's divide and conquer (syevd, heevd).
#include <fmt/format.h>

#include "kernels/cpu/linalg/batch.h"
#include "kernels/cpu/linalg/lanes/lanes.h"
#include "kernels/cpu/linalg/lapack.h"
#include "kernels/cpu/linalg/linalg.h"

namespace tern::cpu {
namespace {

constexpr int kNotFinite = -1000;

template <class T>
struct EighJob {
  using R = lapack::Real<T>;

  explicit EighJob(const KernelCall& call)
      : c(&call),
        count(batch_count(call.in[0], 2)),
        a(call.in[0], 2, call.in[0], 2),
        vectors(call.wants(1)),
        n(lapack_size(a.rows, vectors ? 3 : 0)),
        upper(call.node->integer(AttrKey::upper) != 0) {
    flops = 9.0 * n * n * n;
    if (n == 0) return;
    // As LAPACK documents them, for blocks of at most 64 reflections.
    const int squares = vectors ? 2 * n * n : 0;
    work_length = 1 + 66 * n + squares;
    real_length = lapack::kIsComplex<T> ? 1 + 5 * n + squares : 1;
    integer_length = 3 + 5 * n;
  }
  void cut(ScratchParts& parts) {
    matrix = parts.take<T>(a.rows * a.columns);
    values = parts.take<R>(n);
    work = parts.take<T>(work_length);
    real_work = parts.take<R>(real_length);
    integer_work = parts.take<int>(integer_length);
  }
  void one(std::int64_t i, Failure& failure) {
    if (n == 0) return;
    a.copy_columns(i, matrix, n);
    // Only one triangle is read; what stands in the other does not count.
    for (std::int64_t col = 0; col < n; ++col) {
      const T* at = matrix + col * n;
      if (!(upper ? all_finite(at, col + 1) : all_finite(at + col, n - col))) return failure.report(i, kNotFinite);
    }
    const int info = lapack::heevd(vectors ? 'V' : 'N', upper ? 'U' : 'L', n, matrix, n, values, work, work_length,
                                   real_work, real_length, integer_work, integer_length);
    if (info != 0) return failure.report(i, info);
    if (R* out = output<R>(*c, 0, i, n)) std::copy(values, values + n, out);
    if (T* out = output<T>(*c, 1, i, a.rows * a.columns)) store_columns(matrix, n, n, n, out);
  }
  [[noreturn]] void failed(const Failure& f) const {
    fail_matrix(f, count,
                f.info() == kNotFinite ? "has NaN or infinities"
                                       : fmt::format("has eigenvalues that were not found (LAPACK: {})", f.info()));
  }

  const KernelCall* c;
  std::int64_t count;
  double flops = 0;
  Operand a;
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
