// How far the elements of a tensor are from those of its reference: sums that grow element by element.
#pragma once

#include <cstdint>
#include <optional>

namespace tern {

struct Deviation {
  std::int64_t elements = 0;
  std::int64_t unequal = 0;     ///< NaN equals NaN, whatever its payload
  std::int64_t not_finite = 0;  ///< unequal ones of which either is NaN or infinite; they count in nothing below
  // Long double, so that squares of float64 neither overflow nor vanish.
  long double reference = 0, actual = 0, error = 0;  ///< sums of squares
  long double product = 0;                           ///< sum of products of both
  double largest_error = 0, largest_reference = 0;   ///< magnitudes
  std::int64_t rows = 0, same_rows = 0;  ///< rows along the last axis, and those with the same first answer (argmax)

  void add(double reference_element, double actual_element);
  /// More elements of the same tensor: those of another call.
  Deviation& operator+=(const Deviation& other);

  bool exact() const { return unequal == 0; }
  double cosine() const;    ///< 1 where both are zero, 0 where one of them is
  double sqnr() const;      ///< decibels; infinite where there is no error, minus infinite where only errors are
  double relative() const;  ///< the largest error over the largest magnitude of the reference
  /// The share of rows with the same first answer; none where there are no rows.
  std::optional<double> agreement() const;
};

/// Compares the first answers of rows. The first of equal numbers is the answer; NaN is larger than all numbers, as in
/// torch.argmax.
class FirstAnswers {
 public:
  explicit FirstAnswers(std::int64_t columns) : columns_(columns) {}
  void add(double reference, double actual, Deviation& to);

 private:
  struct Answer {
    double value = 0;
    std::int64_t at = -1;
    void offer(double v, std::int64_t column);
  };
  std::int64_t columns_, column_ = 0;
  Answer reference_, actual_;
};

}  // namespace tern
