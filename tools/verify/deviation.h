// Deviation of a tensor from its reference: sums accumulated element by element.
#pragma once

#include <cstdint>
#include <optional>

namespace tern {

struct Deviation {
  std::int64_t elements = 0;
  std::int64_t unequal = 0;     ///< NaN equals NaN, whatever the payload
  std::int64_t not_finite = 0;  ///< unequal pairs with a NaN or infinity; excluded from the members below
  // Long double: squares of float64 neither overflow nor vanish.
  long double reference = 0, actual = 0, error = 0;  ///< sums of squares
  long double product = 0;                           ///< sum of products of both
  double largest_error = 0, largest_reference = 0;   ///< magnitudes
  std::int64_t rows = 0, same_rows = 0;  ///< rows along the last axis; rows with the same first maximum (argmax)

  void add(double reference_element, double actual_element);
  /// Adds further elements of the same tensor, from another call.
  Deviation& operator+=(const Deviation& other);

  bool exact() const { return unequal == 0; }
  double cosine() const;    ///< 1 if both are zero, 0 if exactly one is zero
  double sqnr() const;      ///< decibels; infinite without errors, minus infinite for errors against a zero reference
  double relative() const;  ///< the largest error over the largest magnitude of the reference
  /// The share of rows with the same first maximum; empty without rows.
  std::optional<double> agreement() const;
};

/// Compares the first answers of rows. The first of equal numbers is the answer; NaN is larger than all numbers, like
/// in torch.argmax.
class FirstAnswers {
 public:
  explicit FirstAnswers(std::int64_t columns) : columns_(columns) {}
  void add(double reference, double actual, Deviation& to);

 private:
  struct Answer {
    double value = 0;
    std::int64_t best_column = -1;
    void offer(double v, std::int64_t column);
  };
  std::int64_t columns_, column_ = 0;
  Answer reference_, actual_;
};

}  // namespace tern
