// Kernel parameters of the stand-ins for cuSOLVER, cuBLAS and rocSOLVER: a validated factorization.
#pragma once

#include <cstdint>

namespace tern::stand_in {

enum class SolverRoutine : std::int32_t { potrf, getrf, geqrf, orgqr, syev, gesvd };

struct SolverCall {
  SolverRoutine routine;
  std::int32_t type;  ///< 0 to 3: s, d, c, z
  std::int32_t m, n, k, count;
  std::int32_t lda;
  bool upper, has_vectors;
  bool a_is_list;                           ///< `a` is an array of the matrices' addresses, `tau` as well
  std::uint64_t a;                          ///< column-major
  std::int64_t a_stride;                    ///< elements from matrix to matrix
  std::uint64_t tau, pivots, values, info;  ///< `info` 0: the routine has none
  std::int64_t steps;                       ///< elements of tau, pivots and values of a matrix
  std::uint64_t u, v;
  std::int32_t u_columns, v_rows;  ///< computed columns of U and rows of V
  bool v_is_plain;                 ///< V instead of its adjoint
  std::uint64_t workspace, work_bytes;
};

constexpr const char* kSolverKernel = "stand_in_solver";

}  // namespace tern::stand_in
