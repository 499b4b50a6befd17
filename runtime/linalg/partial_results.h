// Results of all matrices of a batch with a solution, for the functions named *_ex (tern/linalg.h).
#pragma once

#include <tern/tensor.h>

#include <functional>
#include <vector>

namespace tern::linalg {

/// Numbers in `info`: NaN or infinities; an iteration without convergence; no solution, or one beyond the type's range.
inline constexpr std::int32_t kNotFinite = 1, kNoConvergence = 2, kNoSolution = 3;

/// Elements of a matrix that a function reads.
enum class ReadElements { all, lower, upper };

struct PartialResults {
  std::vector<Tensor> results;  ///< NaN for matrices without a solution
  Tensor info;                  ///< int32: 0; 1 for NaN or infinities; 2 if `run` fails
};

/// Runs a function on the batch A [..., m, n] of a linear algebra type. `run` takes a batch of matrices and returns
/// results whose first axes are the batch; unwanted results have no type. A runtime error of `run` halves the batch
/// until the matrices without a solution are alone.
PartialResults run_partially(const Tensor& a, ReadElements read,
                             const std::function<std::vector<Tensor>(const Tensor&)>& run);

}  // namespace tern::linalg
