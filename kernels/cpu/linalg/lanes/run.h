// Frame of the kernels with a matrix per lane: runs a job for each tile of a batch on several threads.
#pragma once

#include <algorithm>
#include <mutex>
#include <vector>

#include "kernels/cpu/linalg/batch.h"
#include "kernels/cpu/linalg/lanes/loops.h"

namespace tern::cpu::lanes {

/// Matrices left to LAPACK: iterations without convergence, and errors to report.
class Leftover {
 public:
  void add(std::int64_t matrix) {
    const std::lock_guard lock(mutex_);
    matrices_.push_back(matrix);
  }
  std::vector<std::int64_t> ascending() const {
    std::vector<std::int64_t> all = matrices_;
    std::ranges::sort(all);
    return all;
  }
  bool exists() const { return !matrices_.empty(); }

  Failure failure;  ///< an error LAPACK might miss, because of its different rounding

 private:
  std::mutex mutex_;
  std::vector<std::int64_t> matrices_;
};

/// Returns the matrices of an operand from `first` on, one per lane; lanes past `count` repeat the last matrix.
template <class T>
LaneMatrices<const T> matrices_of(const BatchOperand& a, std::int64_t first, std::int64_t count, int lanes) {
  LaneMatrices<const T> m{{}, a.rows, a.columns, a.row, a.column};
  for (int l = 0; l < lanes; ++l) m.data[l] = a.matrix<T>(std::min(first + l, count - 1));
  return m;
}
/// Returns the matrices of a contiguous output.
template <class T>
LaneMatrices<T> matrices_at(T* base, std::int64_t first, int used, std::int64_t rows, std::int64_t columns) {
  LaneMatrices<T> m{{}, rows, columns, columns, 1};
  for (int l = 0; l < used; ++l) m.data[l] = base + (first + l) * rows * columns;
  return m;
}
/// Conjugates the first `count` elements of a tile.
template <class T>
void conjugate(T* tile, std::int64_t count, int lanes) {
  using R = typename PartOf<T>::type;
  if (std::is_same_v<T, R>) return;
  R* imaginary = reinterpret_cast<R*>(tile) + lanes;
  for (std::int64_t i = 0; i < count; ++i, imaginary += 2 * lanes) {
    for (int l = 0; l < lanes; ++l) imaginary[l] = -imaginary[l];
  }
}
template <class M>
M exchanged(M m) {
  std::swap(m.rows, m.columns);
  std::swap(m.row, m.column);
  return m;
}

/// Returns the vectors between columns (or rows) of a tile: an odd number, so neighbours map to different cache sets.
inline std::ptrdiff_t apart(std::int64_t n) {
  return n < 16 ? n : n | 1;
}

// A Job<T> is constructed from the call. The job has `count` matrices with `flops` each; `cut` takes scratch memory,
// and `tile(first, used, leftover)` computes the matrices from `first` on in `used` lanes.

template <class Job>
std::int64_t tile_workers(const Job& job) {
  const std::int64_t tiles = (job.count + job.loops.lanes - 1) / job.loops.lanes;
  const double work = static_cast<double>(job.count) * std::max(job.flops, 100.0);
  return work < 2e5 ? 1 : std::min<std::int64_t>(Threads::current().count(), tiles);
}

template <class Job>
std::size_t tiles_scratch(const KernelCall& c) {
  Job job(c);
  ScratchArena arena;
  job.allocate(arena);
  return arena.used() * static_cast<std::size_t>(std::max<std::int64_t>(tile_workers(job), 1));
}

template <class Job>
void run_tiles(KernelCall& c, Leftover& leftover) {
  const Job job(c);
  if (job.count == 0) return;
  const std::int64_t lanes = job.loops.lanes, tiles = (job.count + lanes - 1) / lanes, workers = tile_workers(job);
  ScratchArena counted;
  Job(job).allocate(counted);
  const Scratch memory(c, counted.used() * static_cast<std::size_t>(workers));
  parallel_for(workers, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t w = begin; w < end; ++w) {
      Job own(job);
      ScratchArena arena(memory.data() + counted.used() * static_cast<std::size_t>(w));
      own.allocate(arena);
      for (std::int64_t t = tiles * w / workers; t < tiles * (w + 1) / workers; ++t) {
        own.tile(t * lanes, static_cast<int>(std::min(lanes, job.count - t * lanes)), leftover);
      }
    }
  });
}

template <template <class> class Job>
void run_by_type(KernelCall& c, Leftover& leftover) {
  switch (c.in[0].dtype) {
    case DType::f64: return run_tiles<Job<double>>(c, leftover);
    case DType::c64: return run_tiles<Job<std::complex<float>>>(c, leftover);
    case DType::c128: return run_tiles<Job<std::complex<double>>>(c, leftover);
    default: return run_tiles<Job<float>>(c, leftover);
  }
}
template <template <class> class Job>
std::size_t scratch_by_type(const KernelCall& c) {
  switch (c.in[0].dtype) {
    case DType::f64: return tiles_scratch<Job<double>>(c);
    case DType::c64: return tiles_scratch<Job<std::complex<float>>>(c);
    case DType::c128: return tiles_scratch<Job<std::complex<double>>>(c);
    default: return tiles_scratch<Job<float>>(c);
  }
}

}  // namespace tern::cpu::lanes
