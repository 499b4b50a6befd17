// cholesky: LAPACK's potrf in place of the result. Row-major A is A^T in column-major order; its upper factor U, read
// row-major, is A's lower factor (and vice versa), for complex numbers too.
#include <cmath>

#include "kernels/cpu/linalg/batch.h"
#include "kernels/cpu/linalg/lanes/lanes.h"
#include "kernels/cpu/linalg/lapack.h"
#include "kernels/cpu/linalg/linalg.h"

namespace tern::cpu {
namespace {

template <class T>
struct CholeskyJob {
  explicit CholeskyJob(const KernelCall& call)
      : c(&call),
        count(batch_count(call.in[0], 2)),
        a(call.in[0], 2, call.in[0], 2),
        n(lapack_size(a.rows)),
        upper(call.node->integer(AttrKey::upper) != 0),
        check(call.node->integer(AttrKey::check) != 0) {
    flops = static_cast<double>(n) * n * n / 3;
  }
  void allocate(ScratchArena& arena) {
    if (!c->wants_output(0)) scratch_factor = arena.allocate<T>(a.rows * a.rows);
  }
  void compute_matrix(std::int64_t i, Failure& failure) {
    T* l = output<T>(*c, 0, i, a.rows * a.rows);
    if (l == nullptr) l = scratch_factor;
    a.copy_rows(i, l);
    int info = n == 0 ? 0 : lapack::potrf(upper ? 'L' : 'U', n, l, n);
    for (std::int64_t r = 0; r < n && info == 0; ++r) {  // OpenBLAS continues past NaN and infinite pivots
      if (!std::isfinite(std::real(l[r * (n + 1)]))) info = static_cast<int>(r) + 1;
    }
    for (std::int64_t r = 0; r < n; ++r) {
      const std::int64_t begin = upper ? 0 : r + 1, end = upper ? r : n;
      std::fill(l + r * n + begin, l + r * n + end, T(0));
    }
    if (auto* out = output<std::int32_t>(*c, 1, i, 1)) *out = info;
    if (info != 0 && check) failure.report(i, Failure::Kind::not_positive_definite);
  }

  const KernelCall* c;
  std::int64_t count;
  double flops = 0;
  BatchOperand a;
  int n;
  bool upper, check;
  T* scratch_factor = nullptr;
};

}  // namespace

Kernel cholesky_kernel() {
  return lanes::kernel_with<lanes::Cholesky, CholeskyJob, 16>();
}

}  // namespace tern::cpu
