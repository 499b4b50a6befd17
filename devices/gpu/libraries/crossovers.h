// From which size and count on the vendor's solvers are faster than Tern's kernels. ./dev gpu-check measures them.
#pragma once

#include <span>
#include <string>

#include "devices/gpu/libraries/matrices.h"

namespace tern::gpu {

/// The routine for matrices whose longer side is at least `side`, in batches of at least `count`.
struct Crossover {
  Factorization kind;
  const char* types;  ///< LAPACK's letters of those that it is for: "sd", "cz"
  int side;
  std::int64_t count;
  Routine routine;
};
/// Each vendor's table. Of the rows that hold for a batch the last one counts; where none does, Tern's kernels run.
std::span<const Crossover> crossovers();

/// TERN_CUDA_SOLVER (TERN_ROCM_SOLVER) may say `own`, `small` or `large` for all batches; something else: why it cannot
/// be followed. Empty otherwise.
std::string wrong_solver();
/// The routine of that variable where it says one.
Routine routine_for(const MatrixBatch& batch);

}  // namespace tern::gpu
