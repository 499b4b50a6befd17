// Frame of the linear algebra kernels: runs a job for each matrix of a batch on several threads, with scratch memory
// per thread.
#pragma once

#include <algorithm>
#include <complex>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <string>

#include "kernels/cpu/dense.h"
#include "kernels/cpu/linalg/lanes/loops.h"
#include "kernels/kernel.h"
#include "kernels/portable/failure.h"
#include "threads/loop_recorder.h"
#include "threads/parallel.h"

namespace tern::cpu {

/// to[c * to_row + r] = from[r * from_row + c]
template <class T>
void transpose(const T* from, std::int64_t rows, std::int64_t columns, std::int64_t from_row, T* to,
               std::int64_t to_row) {
  if constexpr (std::is_floating_point_v<T>) {
    lanes::loops<T>().transpose(from, rows, columns, from_row, to, to_row);
  } else {
    constexpr std::int64_t kBlock = 16;
    for (std::int64_t r0 = 0; r0 < rows; r0 += kBlock) {
      for (std::int64_t c0 = 0; c0 < columns; c0 += kBlock) {
        const std::int64_t r1 = std::min(rows, r0 + kBlock), c1 = std::min(columns, c0 + kBlock);
        for (std::int64_t c = c0; c < c1; ++c) {
          for (std::int64_t r = r0; r < r1; ++r) to[c * to_row + r] = from[r * from_row + c];
        }
      }
    }
  }
}

/// An operand read matrix by matrix. Its batch broadcasts to the batch of `result`: result's axes without the last
/// `result_core`. Core 1 means vectors, read as matrices of a single column.
class BatchOperand {
 public:
  BatchOperand() = default;
  BatchOperand(const TensorView& v, int core, const TensorView& result, int result_core);

  std::int64_t rows = 0, columns = 1, row = 0, column = 0;  ///< sizes and strides in elements

  template <class T>
  const T* matrix(std::int64_t i) const {
    return reinterpret_cast<const T*>(data_) + offset(i);
  }
  /// True if BLAS can read the rows in row-major order.
  bool has_rows() const { return (column == 1 || columns <= 1) && (rows <= 1 || row >= columns); }
  std::int64_t leading() const {
    return rows <= 1 ? std::max<std::int64_t>(columns, 1) : std::max<std::int64_t>(row, 1);
  }

  template <class T>
  void copy_rows(std::int64_t i, T* to) const {
    copy_rows(i, to, columns);
  }
  template <class T>
  void copy_rows(std::int64_t i, T* to, std::int64_t leading) const {
    copy(matrix<T>(i), rows, columns, row, column, to, leading);
  }
  template <class T>
  void copy_columns(std::int64_t i, T* to, std::int64_t leading) const {
    copy(matrix<T>(i), columns, rows, column, row, to, leading);
  }

 private:
  /// Copies to[r * leading + c] = from[r * row + c * column] in blocks that fit the cache.
  template <class T>
  static void copy(const T* from, std::int64_t rows, std::int64_t columns, std::int64_t row, std::int64_t column, T* to,
                   std::int64_t leading) {
    if (column == 1) {
      for (std::int64_t r = 0; r < rows; ++r) std::copy_n(from + r * row, columns, to + r * leading);
      return;
    }
    if (row == 1) return transpose(from, columns, rows, column, to, leading);
    constexpr std::int64_t kBlock = 16;
    for (std::int64_t r0 = 0; r0 < rows; r0 += kBlock) {
      for (std::int64_t c0 = 0; c0 < columns; c0 += kBlock) {
        const std::int64_t r1 = std::min(rows, r0 + kBlock), c1 = std::min(columns, c0 + kBlock);
        for (std::int64_t r = r0; r < r1; ++r) {
          for (std::int64_t c = c0; c < c1; ++c) to[r * leading + c] = from[r * row + c * column];
        }
      }
    }
  }
  std::int64_t offset(std::int64_t i) const;

  const std::byte* data_ = nullptr;
  int rank_ = 0;
  std::array<std::int64_t, kMaxRank> sizes_{}, strides_{};  ///< sizes and strides of the batch axes, innermost first
};

/// Returns the number of matrices in a tensor whose last `core` axes form a matrix.
std::int64_t batch_count(const TensorView& v, int core);

/// Returns matrix i of a contiguous output; null for an unused output.
template <class T>
T* output(const KernelCall& c, std::size_t k, std::int64_t i, std::int64_t elements) {
  return c.wants_output(k) && c.out[k].data != nullptr ? c.out[k].data_as<T>() + i * elements : nullptr;
}

/// Writes a column-major matrix to row-major memory.
template <class T>
void store_columns(const T* from, std::int64_t leading, std::int64_t rows, std::int64_t columns, T* to) {
  transpose(from, columns, rows, leading, to, columns);
}

template <class T>
bool all_finite(const T* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    if (!std::isfinite(std::real(x[i])) || !std::isfinite(std::imag(x[i]))) return false;
  }
  return true;
}

/// Records the first faulty matrix of a batch.
class Failure {
 public:
  using Kind = portable::KernelFailure;
  void report(std::int64_t matrix, Kind kind) {
    const std::lock_guard lock(mutex_);
    if (matrix >= matrix_) return;
    matrix_ = matrix;
    kind_ = kind;
  }
  bool exists() const { return matrix_ != kNone; }
  std::int64_t matrix() const { return matrix_; }
  Kind kind() const { return kind_; }

 private:
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  std::mutex mutex_;
  std::int64_t matrix_ = kNone;
  Kind kind_ = Kind::singular;
};

/// Fails with "matrix 3 of the batch is singular". `count`: matrices of the batch.
[[noreturn]] void fail_matrix(const Failure& f, std::int64_t count);

/// Converts a size to LAPACK's integer; fails if the size, or a workspace of `factor` times its square, is too large.
int lapack_size(std::int64_t n, std::int64_t factor = 0);
/// Returns the workspace size from a query's work[0], with slack for rounding in float32.
template <class T>
int work_size(T answer) {
  const double n = static_cast<double>(std::real(answer)) * (1 + 1e-6) + 1;
  return static_cast<int>(std::min(n, 2147483647.0));
}

/// Returns the number of threads for whole matrices: all for many or small matrices; otherwise 1, and BLAS uses the
/// threads.
inline std::int64_t workers_for(std::int64_t count, double flops) {
  const std::int64_t threads = Threads::current().count();
  if (threads <= 1 || count <= 1 || static_cast<double>(count) * flops < 1e5) return 1;
  if (count < threads && flops > 1e7) return 1;
  return std::min(count, threads);
}

// A Job<T> is constructed from the call; `cut` takes its scratch memory, `one` computes matrix i and reports to a
// Failure. The job has members `count` and `flops`, and is copied for each thread. Job names must be unique: g++ 12
// gives functions of a template in an unnamed namespace one symbol per name.

/// A type-erased job: shared code is compiled once.
struct AnyJob {
  const void* job;
  std::int64_t count;
  double flops;
  std::size_t scratch;  ///< bytes per thread
  /// Runs a copy of the job on matrices [begin, end) with `memory` as scratch.
  void (*matrices)(const void* job, std::byte* memory, std::int64_t begin, std::int64_t end, Failure& failure);
};
void run_any_job(KernelCall& c, const AnyJob& job, Failure& failure);

template <class Job>
std::size_t bytes_of(const Job& job) {
  Job own(job);
  ScratchArena arena;
  own.allocate(arena);
  return arena.used();
}
template <class Job>
std::size_t job_scratch(const KernelCall& c) {
  const Job job(c);
  return bytes_of(job) * static_cast<std::size_t>(workers_for(job.count, job.flops));
}
template <class Job>
void do_matrices(const void* job, std::byte* memory, std::int64_t begin, std::int64_t end, Failure& failure) {
  Job own(*static_cast<const Job*>(job));
  ScratchArena arena(memory);
  own.allocate(arena);
  for (std::int64_t i = begin; i < end; ++i) own.compute_matrix(i, failure);
}

template <class Job>
void run_job(KernelCall& c) {
  const Job job(c);
  if (job.count == 0) return;
  Failure failure;
  run_any_job(c, {&job, job.count, job.flops, bytes_of(job), do_matrices<Job>}, failure);
  if (failure.exists()) fail_matrix(failure, job.count);
}

template <template <class> class Job>
std::size_t scratch_by_type(const KernelCall& c) {
  switch (c.in[0].dtype) {
    case DType::f64: return job_scratch<Job<double>>(c);
    case DType::c64: return job_scratch<Job<std::complex<float>>>(c);
    case DType::c128: return job_scratch<Job<std::complex<double>>>(c);
    default: return job_scratch<Job<float>>(c);
  }
}
template <template <class> class Job>
void run_by_type(KernelCall& c) {
  switch (c.in[0].dtype) {
    case DType::f64: return run_job<Job<double>>(c);
    case DType::c64: return run_job<Job<std::complex<float>>>(c);
    case DType::c128: return run_job<Job<std::complex<double>>>(c);
    default: return run_job<Job<float>>(c);
  }
}
/// True if a matrix is large enough for LAPACK: for small matrices, LAPACK's checks and workspaces cost more than the
/// arithmetic.
template <int kSmall>
bool is_large(const KernelCall& c) {
  const TensorView& a = c.in[0];
  return std::max(a.size(a.rank - 1), a.size(a.rank - 2)) > kSmall;
}
/// The kernel for a job per matrix of more than `kSmall` rows or columns. The portable definitions are as fast for
/// smaller matrices: `./dev bench --definitions`.
template <template <class> class Job, int kSmall = 0>
Kernel job_kernel() {
  Kernel k;
  if (kSmall > 0) k.serves = is_large<kSmall>;
  k.run = run_by_type<Job>;
  k.scratch = scratch_by_type<Job>;
  k.strided = kAllStrided;
  return k;
}

}  // namespace tern::cpu
