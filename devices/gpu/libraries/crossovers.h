// Sizes and batch counts for choosing the vendor's solvers over Tern's kernels, measured by `./dev gpu-check`.
#pragma once

#include <span>
#include <string>

#include "devices/gpu/libraries/matrices.h"

namespace tern::gpu {

/// Routine for matrices with a longer side of at least `side`, in batches of at least `count`.
struct Crossover {
  Factorization kind;
  const char* types;  ///< LAPACK's letters of the types: "sd", "cz"
  int side;
  std::int64_t count;
  Routine routine;
};
/// Each vendor's table. The last matching row of a batch counts; without a match, Tern's kernels run.
std::span<const Crossover> crossovers();

/// Returns an error for an invalid value of TERN_CUDA_SOLVER (TERN_ROCM_SOLVER); valid values are `own`, `small` and
/// `large`, for all batches. Empty otherwise. The process reads the variable once.
std::string wrong_solver();
/// Returns the routine of that variable if set, else the table's.
Routine routine_for(const MatrixBatch& batch);

}  // namespace tern::gpu
