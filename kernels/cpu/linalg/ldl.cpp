// ldl_factor and ldl_solve with LAPACK's sytrf and sytrs (hetrf and hetrs).
#include "kernels/cpu/linalg/batch.h"
#include "kernels/cpu/linalg/lapack.h"
#include "kernels/cpu/linalg/linalg.h"
#include "kernels/cpu/linalg/tiny.h"

namespace tern::cpu {
namespace {

/// Calls f(x) for each element of D in the column-major factors of order n: the diagonal, and the elements beside the
/// diagonal of blocks of two.
template <class T, class F>
void for_each_block_element(T* ld, int n, const std::int32_t* pivots, F f) {
  for (std::int64_t k = 0; k < n; ++k) {
    f(ld[k * (n + std::int64_t{1})]);
    if (pivots[k] >= 0) continue;
    f(ld[k * (n + std::int64_t{1}) + 1]);
    ++k;
    f(ld[k * (n + std::int64_t{1})]);
  }
}

template <class T>
struct LdlFactorJob {
  using R = lapack::RealPart<T>;

  explicit LdlFactorJob(const KernelCall& call)
      : c(&call),
        count(batch_count(call.in[0], 2)),
        a(call.in[0], 2, call.in[0], 2),
        n(lapack_size(a.rows)),
        hermitian(call.node->integer(AttrKey::hermitian) != 0),
        check(call.node->integer(AttrKey::check) != 0) {
    flops = static_cast<double>(n) * n * n / 3;
    work_length = 64 * std::max(1, n);  // LAPACK's largest blocks
  }
  int factor(T* m, std::int32_t* p, T* w, int length) const {
    return hermitian ? lapack::hetrf(n, m, n, p, w, length) : lapack::sytrf(n, m, n, p, w, length);
  }
  void allocate(ScratchArena& arena) {
    matrix = arena.allocate<T>(a.rows * a.columns);
    pivots = arena.allocate<std::int32_t>(n);
    work = arena.allocate<T>(work_length);
  }
  void compute_matrix(std::int64_t i, Failure& failure) {
    int info = 0;
    if (n > 0) {
      a.copy_columns(i, matrix, n);
      Magnitude size = Magnitude::zero;
      for (std::int64_t col = 0; col < n && size != Magnitude::ordinary; ++col)
        size = std::max(size, magnitude_of(matrix + col * (n + std::int64_t{1}), n - col));
      const bool tiny = size == Magnitude::tiny;
      for (std::int64_t e = 0; tiny && e < a.rows * a.columns; ++e) matrix[e] *= kLift<R>;
      info = factor(matrix, pivots, work, work_length);
      if (tiny) for_each_block_element(matrix, n, pivots, [](T& x) { x *= 1 / kLift<R>; });
      if (T* out = output<T>(*c, 0, i, a.rows * a.columns)) {
        store_columns(matrix, n, n, n, out);
        for (std::int64_t r = 0; r < n; ++r) std::fill(out + r * n + r + 1, out + (r + 1) * n, T(0));
      }
      if (auto* out = output<std::int32_t>(*c, 1, i, n)) std::copy(pivots, pivots + n, out);
    }
    if (auto* out = output<std::int32_t>(*c, 2, i, 1)) *out = info;
    if (info != 0 && check) failure.report(i, Failure::Kind::singular);
  }

  const KernelCall* c;
  std::int64_t count;
  double flops = 0;
  BatchOperand a;
  int n, work_length = 1;
  bool hermitian, check;
  T *matrix = nullptr, *work = nullptr;
  std::int32_t* pivots = nullptr;
};

template <class T>
struct LdlSolveJob {
  using R = lapack::RealPart<T>;

  explicit LdlSolveJob(const KernelCall& call)
      : c(&call),
        count(batch_count(call.out[0], 2)),
        a(call.in[0], 2, call.out[0], 2),
        pivots(call.in[1], 1, call.out[0], 2),
        b(call.in[2], 2, call.out[0], 2),
        n(lapack_size(a.rows)),
        k(lapack_size(b.columns)),
        hermitian(call.node->integer(AttrKey::hermitian) != 0) {
    flops = 2.0 * n * n * k;
  }
  void allocate(ScratchArena& arena) {
    matrix = arena.allocate<T>(a.rows * a.columns);
    x = arena.allocate<T>(b.rows * b.columns);
    swaps = arena.allocate<std::int32_t>(n);
  }
  /// True if LAPACK stays inside the matrix: positive pivots are single, negative pivots come in pairs.
  bool sound() const {
    for (int i = 0; i < n; ++i) {
      const int p = swaps[i];
      if (p == 0 || p > n || p < -n) return false;
      if (p < 0 && (++i == n || swaps[i] != p)) return false;
    }
    return true;
  }
  void compute_matrix(std::int64_t i, Failure& failure) {
    T* out = output<T>(*c, 0, i, b.rows * b.columns);
    if (out == nullptr || n == 0 || k == 0) return;
    pivots.copy_rows(i, swaps);
    if (!sound()) return failure.report(i, Failure::Kind::ldl_pivots);
    a.copy_columns(i, matrix, n);
    b.copy_columns(i, x, n);
    Magnitude size = Magnitude::zero;
    for_each_block_element(matrix, n, swaps, [&](const T& d) { size = std::max(size, magnitude_of(&d, 1)); });
    const bool tiny = size == Magnitude::tiny;
    if (tiny) for_each_block_element(matrix, n, swaps, [](T& d) { d *= kLift<R>; });
    if (hermitian) {
      lapack::hetrs(n, k, matrix, n, swaps, x, n);
    } else {
      lapack::sytrs(n, k, matrix, n, swaps, x, n);
    }
    for (std::int64_t e = 0; tiny && e < b.rows * b.columns; ++e) x[e] *= kLift<R>;
    store_columns(x, n, n, k, out);
  }

  const KernelCall* c;
  std::int64_t count;
  double flops;
  BatchOperand a, pivots, b;
  int n, k;
  bool hermitian;
  T *matrix = nullptr, *x = nullptr;
  std::int32_t* swaps = nullptr;
};

}  // namespace

Kernel ldl_factor_kernel() {
  return job_kernel<LdlFactorJob, 4>();
}
Kernel ldl_solve_kernel() {
  return job_kernel<LdlSolveJob, 4>();
}

}  // namespace tern::cpu
