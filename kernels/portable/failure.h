// Data-dependent failures of kernels: a kernel writes a number, the host reports the message. The bits above the lowest
// 8 hold the matrix of a batch (text/matrix_failure.inc).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tern::portable {

// X(number, name, message); text/ has the names as TERN_FAIL_name. The messages of a matrix lack their subject.
#define TERN_KERNEL_FAILURES(X)                                          \
  X(1, index, "an index is out of range")                                \
  X(2, negative_count, "a number of repetitions or a count is negative") \
  X(3, singular, "is singular")                                          \
  X(4, not_positive_definite, "is not positive definite")                \
  X(5, no_convergence, "has eigenvalues that were not found")            \
  X(6, argument, "an operand has a value that the op does not take")     \
  X(7, range, "the range of the elements is not finite: give a range")   \
  X(8, extent, "a segment or bag does not lie within its elements")      \
  X(9, box, "a box is not finite or names an image outside the batch")
// Failures in the texts of linear algebra only. The host reports the largest of several failures of a matrix.
#define TERN_MATRIX_FAILURES(X)                                                \
  X(10, right_side_not_finite, "has a right-hand side with NaN or infinities") \
  X(11, pivots, "has pivots that are not rows")                                \
  X(12, ldl_pivots, "has pivots that are not those of an LDL factorization")   \
  X(13, not_of_full_rank, "does not have full rank")                           \
  X(14, no_singular_values, "has singular values that were not found")         \
  X(15, not_finite, "has NaN or infinities")

#define TERN_FAILURE_ENUM(number, name, message) name = number,
enum class KernelFailure : std::int32_t {
  TERN_KERNEL_FAILURES(TERN_FAILURE_ENUM) TERN_MATRIX_FAILURES(TERN_FAILURE_ENUM)
};
#undef TERN_FAILURE_ENUM

constexpr std::string_view failure_sentence(int number) {
#define TERN_FAILURE_CASE(n, name, message) \
  if (number == n) return message;
  TERN_KERNEL_FAILURES(TERN_FAILURE_CASE)
  TERN_MATRIX_FAILURES(TERN_FAILURE_CASE)
#undef TERN_FAILURE_CASE
  return "a kernel failed";
}

constexpr bool is_of_matrix(int number) {
  return (number >= static_cast<int>(KernelFailure::singular) &&
          number <= static_cast<int>(KernelFailure::no_convergence)) ||
         number > static_cast<int>(KernelFailure::box);
}

/// "matrix 3 of the batch is singular"; "the matrix is singular" for a single matrix.
inline std::string matrix_failure(KernelFailure failure, std::int64_t matrix, std::int64_t count) {
  std::string text = count > 1 ? "matrix " + std::to_string(matrix) + " of the batch " : "the matrix ";
  return text.append(failure_sentence(static_cast<int>(failure)));
}

inline std::string failure_message(int failure) {
  const int number = failure & 0xff, place = failure >> 8;
  if (!is_of_matrix(number)) return std::string(failure_sentence(number));
  constexpr int kFirst = 0x7fffff;
  return matrix_failure(static_cast<KernelFailure>(number), kFirst - place, place == 0 ? 1 : 2);
}

}  // namespace tern::portable
