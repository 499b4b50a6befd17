// eig: LAPACK's geev, or Tern's loops for small real matrices (eig/small.h), in double precision for float32. Pairs of
// real columns become conjugate eigenvectors.
#include <vector>

#include "kernels/cpu/linalg/batch.h"
#include "kernels/cpu/linalg/eig/small.h"
#include "kernels/cpu/linalg/lapack.h"
#include "kernels/cpu/linalg/linalg.h"

namespace tern::cpu {
namespace {

/// Largest number of rows with Tern's loops: LAPACK's float32 has wider vectors.
template <class T>
constexpr int kSmallEig = sizeof(T) == 4 ? 20 : 32;

template <class T>
struct EigJob {
  using R = lapack::RealPart<T>;
  using C = std::complex<R>;
  static constexpr bool kComplex = lapack::kIsComplex<T>;

  explicit EigJob(const KernelCall& call)
      : c(&call),
        count(batch_count(call.in[0], 2)),
        a(call.in[0], 2, call.in[0], 2),
        vectors(call.wants_output(1)),
        n(lapack_size(a.rows)) {
    flops = 25.0 * n * n * n;
    if (n == 0) return;
    T answer(0);
    R ignored(0);
    std::vector<T> none(static_cast<std::size_t>(2 * n));  // never read; geev needs valid pointers
    lapack::geev(vectors ? 'V' : 'N', n, nullptr, n, none.data(), nullptr, n, &answer, -1, &ignored);
    work_length = std::max(1, work_size(answer));
  }
  void allocate(ScratchArena& arena) {
    matrix = arena.allocate<T>(a.rows * a.columns);
    found = arena.allocate<T>(vectors ? a.rows * a.columns : 1);
    values = arena.allocate<T>(2 * n);
    work = arena.allocate<T>(work_length);
    real_work = arena.allocate<R>(kComplex ? 2 * n : 0);
    small_work = arena.allocate<double>(is_small() ? SmallEig::scratch(n) : 0);
  }
  bool is_small() const { return !kComplex && n <= kSmallEig<T>; }
  /// Computes values and vectors like LAPACK. Returns false without convergence.
  bool run_small() {
    SmallEig small(n, vectors, small_work);
    if constexpr (!kComplex) {
      std::copy_n(matrix, a.rows * a.columns, small.matrix());
      if (!small.run()) return false;
      std::transform(small.real(), small.real() + n, values, [](double x) { return static_cast<T>(x); });
      std::transform(small.imaginary(), small.imaginary() + n, values + n,
                     [](double x) { return nonzero_imaginary<T>(x, x); });
      const double* v = small.vector(0);
      if (vectors) std::transform(v, v + a.rows * a.columns, found, [](double x) { return static_cast<T>(x); });
    }
    return true;
  }
  C value(std::int64_t k) const {
    if constexpr (kComplex) {
      return values[k];
    } else {
      return {values[k], values[n + k]};
    }
  }
  void store_vectors(C* out) const {
    if constexpr (kComplex) {
      store_columns(found, n, n, n, out);
    } else {
      for (std::int64_t k = 0; k < n; ++k) {
        const R* re = found + k * n;
        if (values[n + k] == 0 || k + 1 == n) {
          for (std::int64_t r = 0; r < n; ++r) out[r * n + k] = re[r];
          continue;
        }
        const R* im = re + n;
        for (std::int64_t r = 0; r < n; ++r) {
          out[r * n + k] = {re[r], im[r]};
          out[r * n + k + 1] = {re[r], -im[r]};
        }
        ++k;
      }
    }
  }
  void compute_matrix(std::int64_t i, Failure& failure) {
    if (n == 0) return;
    is_small() ? a.copy_rows(i, matrix) : a.copy_columns(i, matrix, n);
    if (!all_finite(matrix, a.rows * a.columns)) return failure.report(i, Failure::Kind::not_finite);
    if (is_small() && run_small()) return store(i);
    if (is_small()) a.copy_columns(i, matrix, n);
    const int info = lapack::geev(vectors ? 'V' : 'N', n, matrix, n, values, found, n, work, work_length, real_work);
    if (info != 0) return failure.report(i, Failure::Kind::no_convergence);
    store(i);
  }
  void store(std::int64_t i) const {
    if (C* out = output<C>(*c, 0, i, n)) {
      for (std::int64_t k = 0; k < n; ++k) out[k] = value(k);
    }
    if (C* out = output<C>(*c, 1, i, a.rows * a.columns)) store_vectors(out);
  }

  const KernelCall* c;
  std::int64_t count;
  double flops = 0;
  BatchOperand a;
  bool vectors;
  int n, work_length = 1;
  T *matrix = nullptr, *found = nullptr, *values = nullptr, *work = nullptr;
  R* real_work = nullptr;
  double* small_work = nullptr;
};

}  // namespace

Kernel eig_kernel() {
  return job_kernel<EigJob, 4>();
}

}  // namespace tern::cpu
