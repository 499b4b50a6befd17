// lu_factor with Tern's loops (lu/); LAPACK's getrf for complex numbers and a few long rows or columns. lu_solve and
// triangular_solve with BLAS's trsm on row-major matrices, and products (triangle.h).
#include "kernels/cpu/linalg/batch.h"
#include "kernels/cpu/linalg/lanes/lanes.h"
#include "kernels/cpu/linalg/lapack.h"
#include "kernels/cpu/linalg/linalg.h"
#include "kernels/cpu/linalg/lu/factor.h"
#include "kernels/cpu/linalg/triangle.h"
#include "schema/linalg_kinds.h"

namespace tern::cpu {
namespace {

struct Nothing {};

/// True if panels suit the shape: Tern's loops pad rows and columns to panels, many times the matrix for a few long
/// rows or columns.
bool has_panels(int m, int n) {
  return std::min(m, n) >= lu::kPanel || std::max(m, n) <= 64 * lu::kPanel;
}

template <class T>
struct LuFactorJob {
  static constexpr bool kIsReal = !lapack::kIsComplex<T>;

  explicit LuFactorJob(const KernelCall& call)
      : c(&call),
        count(batch_count(call.in[0], 2)),
        a(call.in[0], 2, call.in[0], 2),
        m(lapack_size(a.rows)),
        n(lapack_size(a.columns)),
        check(call.node->integer(AttrKey::check) != 0) {
    flops = 2.0 / 3 * m * n * std::min(m, n);
  }
  void allocate(ScratchArena& arena) {
    if constexpr (kIsReal) {
      if (has_panels(m, n)) {
        factor = lu::Factor<T>(m, n);
        factor.allocate(arena);
      }
    }
    if (!kIsReal || !has_panels(m, n)) matrix = arena.allocate<T>(a.rows * a.columns);
    pivots = arena.allocate<std::int32_t>(std::min(m, n));
  }
  void compute_matrix(std::int64_t i, Failure& failure) {
    const int k = std::min(m, n);
    int info = 0;
    if (k > 0) {
      T* out = output<T>(*c, 0, i, a.rows * a.columns);
      if (matrix != nullptr) {
        a.copy_columns(i, matrix, m);
        info = factor_columns();
        if (out != nullptr) store_columns(matrix, m, m, n, out);
      } else if constexpr (kIsReal) {
        factor.read(a, i);
        info = factor.run(pivots);
        if (out != nullptr) factor.store(out);
      }
      if (auto* out = output<std::int32_t>(*c, 1, i, k)) std::copy(pivots, pivots + k, out);
    }
    if (auto* out = output<std::int32_t>(*c, 2, i, 1)) *out = info;
    if (info != 0 && check) failure.report(i, Failure::Kind::singular);
  }

  /// LAPACK's getrf of `matrix`; tiny numbers are multiplied by a power of two meanwhile.
  int factor_columns() {
    using R = lapack::RealPart<T>;
    if (magnitude_of(matrix, a.rows * a.columns) != Magnitude::tiny) return lapack::getrf(m, n, matrix, m, pivots);
    std::for_each(matrix, matrix + a.rows * a.columns, [](T& x) { x *= kLift<R>; });
    int info = lapack::getrf(m, n, matrix, m, pivots);
    for (std::int64_t col = 0; col < n; ++col) {  // U
      T* column = matrix + col * m;
      std::for_each(column, column + std::min<std::int64_t>(col + 1, m), [](T& x) { x *= 1 / kLift<R>; });
    }
    for (std::int64_t k = 0; k < std::min(m, n) && info == 0; ++k) {
      if (matrix[k * (m + std::int64_t{1})] == T(0)) info = static_cast<int>(k) + 1;
    }
    return info;
  }

  const KernelCall* c;
  std::int64_t count;
  double flops = 0;
  BatchOperand a;
  int m, n;
  bool check;
  std::conditional_t<kIsReal, lu::Factor<T>, Nothing> factor;
  T* matrix = nullptr;
  std::int32_t* pivots = nullptr;
};

CBLAS_TRANSPOSE blas(TransposeKind t) {
  return t == TransposeKind::none ? CblasNoTrans : t == TransposeKind::transpose ? CblasTrans : CblasConjTrans;
}

/// State shared by both solvers: a square matrix read in rows, and right hand sides solved in the result.
template <class T>
struct RowSolveJob {
  RowSolveJob(const KernelCall& call, std::size_t rhs)
      : c(&call),
        count(batch_count(call.out[0], 2)),
        a(call.in[0], 2, call.out[0], 2),
        b(call.in[rhs], 2, call.out[0], 2),
        n(lapack_size(a.rows)),
        m(lapack_size(b.rows)),
        k(lapack_size(b.columns)),
        left(call.node->integer(AttrKey::left) != 0),
        transpose(static_cast<TransposeKind>(call.node->integer(AttrKey::transpose))) {
    flops = static_cast<double>(n) * m * k;
  }
  void allocate(ScratchArena& arena) {
    if (!a.has_rows()) copied = arena.allocate<T>(a.rows * a.columns);
  }
  /// Returns matrix i, with rows `*leading` apart.
  const T* matrix(std::int64_t i, int* leading) {
    *leading = std::max(n, 1);
    if (a.has_rows() && a.leading() <= std::numeric_limits<int>::max()) {
      *leading = static_cast<int>(a.leading());
      return a.matrix<T>(i);
    }
    a.copy_rows(i, copied);
    return copied;
  }
  void solve(const T* at, int leading, bool upper, bool unit, T* x) const {
    const auto uplo = upper ? CblasUpper : CblasLower;
    const auto diagonal = unit ? CblasUnit : CblasNonUnit;
    const BlasTriangle<T> triangle = {at, leading, uplo, blas(transpose), diagonal};
    solve_any_triangle(left ? CblasLeft : CblasRight, triangle, m, k, x, k);
  }

  const KernelCall* c;
  std::int64_t count;
  double flops;
  BatchOperand a, b;
  int n, m, k;
  bool left;
  TransposeKind transpose;
  T* copied = nullptr;
};

template <class T>
struct TriangularJob : RowSolveJob<T> {
  explicit TriangularJob(const KernelCall& call)
      : RowSolveJob<T>(call, 1),
        upper(call.node->integer(AttrKey::upper) != 0),
        unit(call.node->integer(AttrKey::unit) != 0) {}
  void compute_matrix(std::int64_t i, Failure&) {
    T* x = output<T>(*this->c, 0, i, this->b.rows * this->b.columns);
    if (x == nullptr || this->m == 0 || this->k == 0) return;
    this->b.copy_rows(i, x);
    int leading = 0;
    const T* at = this->matrix(i, &leading);
    this->solve(at, leading, upper, unit, x);
  }

  bool upper, unit;
};

template <class T>
struct LuSolveJob : RowSolveJob<T> {
  explicit LuSolveJob(const KernelCall& call) : RowSolveJob<T>(call, 2), pivots(call.in[1], 1, call.out[0], 2) {
    this->flops *= 2;
  }
  void allocate(ScratchArena& arena) {
    RowSolveJob<T>::allocate(arena);
    swaps = arena.allocate<std::int32_t>(this->n);
  }
  /// Swaps rows or columns of x, in the order of the pivots or in reverse.
  void swap(T* x, bool forward) const {
    const std::int64_t m = this->m, k = this->k;
    for (int step = 0; step < this->n; ++step) {
      const std::int64_t from = forward ? step : this->n - 1 - step, to = swaps[from] - 1;
      if (from == to) continue;
      if (this->left) {
        std::swap_ranges(x + from * k, x + (from + 1) * k, x + to * k);
      } else {
        for (std::int64_t r = 0; r < m; ++r) std::swap(x[r * k + from], x[r * k + to]);
      }
    }
  }
  void compute_matrix(std::int64_t i, Failure& failure) {
    T* x = output<T>(*this->c, 0, i, this->b.rows * this->b.columns);
    if (x == nullptr || this->m == 0 || this->k == 0) return;
    pivots.copy_rows(i, swaps);
    for (int p = 0; p < this->n; ++p) {
      if (swaps[p] < 1 || swaps[p] > this->n) return failure.report(i, Failure::Kind::pivots);
    }
    this->b.copy_rows(i, x);
    int leading = 0;
    const T* at = this->matrix(i, &leading);
    // A = S_1 .. S_n L U with swaps S. Side and op decide the first factor.
    const bool plain = this->transpose == TransposeKind::none, lower_first = plain == this->left;
    if (lower_first) swap(x, this->left == plain);
    this->solve(at, leading, !lower_first, lower_first, x);
    this->solve(at, leading, lower_first, !lower_first, x);
    if (!lower_first) swap(x, false);
  }

  BatchOperand pivots;
  std::int32_t* swaps = nullptr;
};

/// lu_solve of real matrices without factors (solves_unfactored in linalg.h).
template <class T>
struct FactorSolveJob {
  explicit FactorSolveJob(const KernelCall& call)
      : c(&call),
        count(batch_count(call.out[0], 2)),
        a(call.in[0], 2, call.out[0], 2),
        b(call.in[2], 2, call.out[0], 2),
        n(lapack_size(a.rows)),
        k(lapack_size(b.columns)),
        check(call.node->integer(AttrKey::check) != 0) {
    if (static_cast<TransposeKind>(call.node->integer(AttrKey::transpose)) != TransposeKind::none)
      std::swap(a.row, a.column);
    flops = 2.0 / 3 * n * n * n + 2.0 * n * n * k;
  }
  void allocate(ScratchArena& arena) {
    factor.allocate(arena);
    pivots = arena.allocate<std::int32_t>(n);
  }
  void compute_matrix(std::int64_t i, Failure& failure) {
    int info = 0;
    if (n > 0) {
      factor.read(a, i);
      info = factor.run(pivots);
      if (T* x = output<T>(*c, 0, i, a.rows * b.columns); x != nullptr && k > 0) solve(i, x);
    }
    if (info != 0 && check) failure.report(i, Failure::Kind::singular);
  }
  void solve(std::int64_t i, T* x) {
    b.copy_rows(i, x);
    for (int r = 0; r < n; ++r) {
      if (pivots[r] - 1 != r)
        std::swap_ranges(x + std::int64_t{r} * k, x + (std::int64_t{r} + 1) * k, x + (pivots[r] - std::int64_t{1}) * k);
    }
    const T* lu = factor.matrix();
    const int row = factor.row();
    solve_any_triangle<T>(CblasLeft, {lu, row, CblasLower, CblasNoTrans, CblasUnit}, n, k, x, k);
    solve_any_triangle<T>(CblasLeft, {lu, row, CblasUpper, CblasNoTrans, CblasNonUnit}, n, k, x, k);
  }

  const KernelCall* c;
  std::int64_t count;
  double flops;
  BatchOperand a, b;
  int n, k;
  bool check;
  lu::Factor<T> factor{n, n};
  std::int32_t* pivots = nullptr;
};

using lanes::FactorSolve;
std::size_t unfactored_scratch(const KernelCall& c) {
  if (FactorSolve::supports(c)) return FactorSolve::scratch(c);
  return c.in[0].dtype == DType::f64 ? job_scratch<FactorSolveJob<double>>(c) : job_scratch<FactorSolveJob<float>>(c);
}
void run_unfactored(KernelCall& c) {
  const bool wide = c.in[0].dtype == DType::f64;
  if (!FactorSolve::supports(c)) return wide ? run_job<FactorSolveJob<double>>(c) : run_job<FactorSolveJob<float>>(c);
  lanes::Leftover leftover;
  FactorSolve::run(c, leftover);
  if (leftover.failure.exists()) fail_matrix(leftover.failure, batch_count(c.out[0], 2));
}

bool is_factored(const KernelCall& c) {
  return c.has_input(1);
}
bool solve_serves(const KernelCall& c) {
  return !is_factored(c) || lanes::serves<lanes::LuSolve, 4>(c);
}
std::size_t solve_scratch(const KernelCall& c) {
  return is_factored(c) ? lanes::scratch<lanes::LuSolve, LuSolveJob>(c) : unfactored_scratch(c);
}
void solve_run(KernelCall& c) {
  is_factored(c) ? lanes::run<lanes::LuSolve, LuSolveJob>(c) : run_unfactored(c);
}

}  // namespace

bool solves_unfactored(const Kernel& lu_solve) {
  return lu_solve.run == solve_run;
}

Kernel lu_factor_kernel() {
  return lanes::kernel_with<lanes::LuFactor, LuFactorJob, 16>();
}
Kernel lu_solve_kernel() {
  Kernel k = lanes::kernel_with<lanes::LuSolve, LuSolveJob, 4>();
  k.serves = solve_serves;
  k.scratch = solve_scratch;
  k.run = solve_run;
  return k;
}
Kernel triangular_solve_kernel() {
  return lanes::kernel_with<lanes::TriangularSolve, TriangularJob, 4>();
}

}  // namespace tern::cpu
