// householder: products of reflections (LAPACK's orgqr), and their product with a matrix (ormqr).
#include <tern/error.h>

#include "kernels/cpu/linalg/batch.h"
#include "kernels/cpu/linalg/lanes/lanes.h"
#include "kernels/cpu/linalg/lapack.h"
#include "kernels/cpu/linalg/linalg.h"
#include "kernels/cpu/linalg/reflections.h"
#include "schema/linalg_kinds.h"

namespace tern::cpu {
namespace {

template <class T>
struct HouseholderJob {
  explicit HouseholderJob(const KernelCall& call)
      : c(&call),
        count(batch_count(call.out[0], 2)),
        multiply(static_cast<HouseholderKind>(call.node->integer(AttrKey::kind)) == HouseholderKind::multiply),
        left(call.node->integer(AttrKey::left) != 0),
        transpose(call.node->integer(AttrKey::transpose) != 0),
        v(call.in[0], 2, call.out[0], 2),
        factors(call.in[1], 1, call.out[0], 2),
        rows(lapack_size(v.rows)),
        columns(lapack_size(v.columns)),
        k(lapack_size(factors.rows)) {
    if (multiply) {
      target = BatchOperand(call.in[2], 2, call.out[0], 2);
      m = lapack_size(target.rows);
      n = lapack_size(target.columns);
      flops = 4.0 * m * n * k;
    } else {
      flops = 4.0 * rows * columns * k;
    }
    if (rows < (multiply ? k : columns) || columns < k)
      fail(ErrorCode::runtime, "there are more reflections than rows or columns");
    work_length = qr_work_length(k, !multiply ? columns : left ? n : m);
  }
  bool empty() const { return multiply ? m == 0 || n == 0 : rows == 0 || columns == 0; }
  void allocate(ScratchArena& arena) {
    reflectors = arena.allocate<T>(v.rows * v.columns);
    matrix = arena.allocate<T>(multiply ? target.rows * target.columns : 0);
    tau = arena.allocate<T>(k);
    work = arena.allocate<T>(work_length);
  }
  void compute_matrix(std::int64_t i, Failure&) {
    T* out = output<T>(*c, 0, i, multiply ? target.rows * target.columns : v.rows * v.columns);
    if (out == nullptr || empty()) return;
    v.copy_columns(i, reflectors, rows);
    factors.copy_rows(i, tau);
    if (multiply) {
      target.copy_columns(i, matrix, m);
      lapack::ormqr(left ? 'L' : 'R', transpose ? 'C' : 'N', m, n, k, reflectors, std::max(rows, 1), tau, matrix, m,
                    work, work_length);
      store_columns(matrix, m, m, n, out);
    } else {
      lapack::orgqr(rows, columns, k, reflectors, rows, tau, work, work_length);
      store_columns(reflectors, rows, rows, columns, out);
    }
  }

  const KernelCall* c;
  std::int64_t count;
  double flops = 0;
  bool multiply, left, transpose;
  BatchOperand v, factors, target;
  int rows, columns, k, m = 0, n = 0, work_length = 1;
  T *reflectors = nullptr, *matrix = nullptr, *tau = nullptr, *work = nullptr;
};

}  // namespace

Kernel householder_kernel() {
  return lanes::kernel_with<lanes::Householder, HouseholderJob, 4>();
}

}  // namespace tern::cpu
