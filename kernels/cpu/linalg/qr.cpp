// qr: Householder reflections (reflections.h), expanded to a matrix by LAPACK's orgqr.
#include "kernels/cpu/linalg/batch.h"
#include "kernels/cpu/linalg/lanes/lanes.h"
#include "kernels/cpu/linalg/lapack.h"
#include "kernels/cpu/linalg/linalg.h"
#include "kernels/cpu/linalg/reflections.h"
#include "schema/linalg_kinds.h"

namespace tern::cpu {
namespace {

template <class T>
struct QrJob {
  explicit QrJob(const KernelCall& call)
      : c(&call),
        count(batch_count(call.in[0], 2)),
        a(call.in[0], 2, call.in[0], 2),
        m(lapack_size(a.rows)),
        n(lapack_size(a.columns)),
        k(std::min(m, n)),
        mode(static_cast<QrKind>(call.node->integer(AttrKey::mode))),
        inner(mode == QrKind::complete ? m : k),
        width(std::max(n, inner)) {
    flops = 4.0 * m * n * k;
    work_length = qr_work_length(k, width);
  }
  void allocate(ScratchArena& arena) {
    matrix = arena.allocate<T>(a.rows * width);
    tau = arena.allocate<T>(k);
    work = arena.allocate<T>(work_length);
  }
  void compute_matrix(std::int64_t i, Failure&) {
    a.copy_columns(i, matrix, m);
    factor_qr(m, n, matrix, tau, work, work_length);
    if (mode == QrKind::reflectors) {
      if (T* out = output<T>(*c, 0, i, a.rows * a.columns)) store_columns(matrix, m, m, n, out);
      if (T* out = output<T>(*c, 1, i, k)) std::copy(tau, tau + k, out);
      return;
    }
    if (T* r = output<T>(*c, 1, i, static_cast<std::int64_t>(inner) * n)) {
      store_columns(matrix, m, inner, n, r);
      for (std::int64_t row = 1; row < inner; ++row) std::fill_n(r + row * n, std::min<std::int64_t>(row, n), T(0));
    }
    if (mode == QrKind::r) return;
    T* q = output<T>(*c, 0, i, a.rows * inner);
    if (q == nullptr || m == 0 || inner == 0) return;
    lapack::orgqr(m, inner, k, matrix, m, tau, work, work_length);
    store_columns(matrix, m, m, inner, q);
  }

  const KernelCall* c;
  std::int64_t count;
  double flops = 0;
  BatchOperand a;
  int m, n, k;
  QrKind mode;
  int inner, width, work_length = 1;
  T *matrix = nullptr, *tau = nullptr, *work = nullptr;
};

}  // namespace

Kernel qr_kernel() {
  return lanes::kernel_with<lanes::Qr, QrJob, 8>();
}

}  // namespace tern::cpu
