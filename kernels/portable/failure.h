// What can go wrong in a kernel because of the data: a kernel writes the number, the host says the sentence. Above the
// lowest 8 bits there may be the place of a matrix in its batch, counted from 1.
#pragma once

#include <string>
#include <string_view>

namespace tern::portable {

// X(number, name, message); text/ has the names as TERN_FAIL_name.
#define TERN_KERNEL_FAILURES(X)                                          \
  X(1, index, "an index is out of range")                                \
  X(2, negative_count, "a number of repetitions or a count is negative") \
  X(3, singular, "a matrix is singular")                                 \
  X(4, not_positive_definite, "a matrix is not positive definite")       \
  X(5, no_convergence, "an iteration did not converge")                  \
  X(6, argument, "an operand has a value that the op does not take")     \
  X(7, range, "the range of the elements is not finite: name a range")   \
  X(8, extent, "a segment or bag does not lie within its elements")      \
  X(9, box, "a box is not finite or names an image outside the batch")

constexpr std::string_view failure_sentence(int number) {
#define TERN_FAILURE_CASE(n, name, message) \
  if (number == n) return message;
  TERN_KERNEL_FAILURES(TERN_FAILURE_CASE)
#undef TERN_FAILURE_CASE
  return "a kernel failed";
}

inline std::string failure_message(int failure) {
  std::string text(failure_sentence(failure & 0xff));
  if (failure >> 8 != 0) text += ": matrix " + std::to_string((failure >> 8) - 1) + " of the batch";
  return text;
}

}  // namespace tern::portable
