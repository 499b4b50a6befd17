// A float matrix product on operands of any strides, without code generation: it is ready when the
// program starts.
#pragma once

#include <cstdint>

namespace tern {

/// Up to so many rows of a are multiplied by dot products where the columns of b lie in one piece each: b is then read
/// once, as it lies.
constexpr std::int64_t kFewRows = 2;

/// c [m, n] (rows `ldc` apart) = a [m, k] b [k, n], plus what c held if `accumulate`. Element (i, p) of a lies at
/// i * a_row + p * a_column, element (p, j) of b at p * b_row + j * b_column. m, n and k are at least 1. On several
/// threads unless called from a parallel region; the bits do not depend on their number.
void sgemm(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, std::int64_t a_row, std::int64_t a_column,
           const float* b, std::int64_t b_row, std::int64_t b_column, float* c, std::int64_t ldc, bool accumulate);

/// The same, each element one chain of fused multiply-adds from zero in the order of p, on all processors that have
/// an instruction for it (not on is_baseline_cpu()).
void sgemm_in_order(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, std::int64_t a_row,
                    std::int64_t a_column, const float* b, std::int64_t b_row, std::int64_t b_column, float* c,
                    std::int64_t ldc);

}  // namespace tern
