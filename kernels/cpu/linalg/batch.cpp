#include "kernels/cpu/linalg/batch.h"

#include <fmt/format.h>
#include <tern/error.h>

namespace tern::cpu {

BatchOperand::BatchOperand(const TensorView& v, int core, const TensorView& result, int result_core) : data_(v.data) {
  if (core == 2) {
    rows = v.size(v.rank - 2);
    columns = v.size(v.rank - 1);
    row = v.stride(v.rank - 2);
    column = v.stride(v.rank - 1);
  } else {
    rows = v.size(v.rank - 1);
    row = v.stride(v.rank - 1);
  }
  rank_ = v.rank - core;
  for (int k = 0; k < rank_; ++k) {
    const int axis = rank_ - 1 - k;
    const auto at = static_cast<std::size_t>(k);
    sizes_[at] = result.size(result.rank - result_core - 1 - k);
    strides_[at] = v.size(axis) == 1 ? 0 : v.stride(axis);
  }
}

std::int64_t BatchOperand::offset(std::int64_t i) const {
  if (rank_ == 1) return i * strides_[0];
  std::int64_t at = 0;
  for (std::size_t k = 0; k < static_cast<std::size_t>(rank_); ++k) {
    at += i % sizes_[k] * strides_[k];
    i /= sizes_[k];
  }
  return at;
}

std::int64_t batch_count(const TensorView& v, int core) {
  std::int64_t n = 1;
  for (int i = 0; i < v.rank - core; ++i) n *= v.size(i);
  return n;
}

void fail_matrix(const Failure& f, std::int64_t count) {
  fail(ErrorCode::runtime, portable::matrix_failure(f.kind(), f.matrix(), count));
}

void run_any_job(KernelCall& c, const AnyJob& job, Failure& failure) {
  const std::int64_t workers = workers_for(job.count, job.flops);
  const Scratch memory(c, job.scratch * static_cast<std::size_t>(workers));
  std::optional<OpenMpScope> openmp;  // for LAPACK
  if (workers == 1) openmp.emplace();
  parallel_for(workers, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t w = begin; w < end; ++w) {
      job.matrices(job.job, memory.data() + job.scratch * static_cast<std::size_t>(w), job.count * w / workers,
                   job.count * (w + 1) / workers, failure);
    }
  });
}

int lapack_size(std::int64_t n, std::int64_t factor) {
  const std::int64_t largest = std::int64_t{1} << 24;
  if (n >= largest || (factor > 0 && factor * n * n + 256 * n > std::numeric_limits<int>::max()))
    fail(ErrorCode::runtime, fmt::format("a matrix of {} rows or columns is too large: LAPACK counts in 32 bits", n));
  return static_cast<int>(n);
}

}  // namespace tern::cpu
