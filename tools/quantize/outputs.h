// The error of a quantized program's results, relative to the float program's results.
#pragma once

#include <vector>

#include "tools/verify/results.h"

namespace tern {

class OutputErrors {
 public:
  /// Runs the reference once, and again in each measurement only if its results take much memory. Fails
  /// (invalid_argument) if the samples do not fit the function, if no result is a floating tensor, and if a result of
  /// the float program contains NaN.
  OutputErrors(Side reference, const Calls& calls);

  /// Deviation of each floating result, all samples together. Inputs and states written by the program count as
  /// results, too.
  std::vector<ResultDeviation> measure(const Side& program_side) const;

 private:
  Side reference_;
  const Calls& calls_;
  PreparedModel prepared_;
  std::vector<std::vector<LeftTensor>>
      reference_results_;  ///< the reference's results by call if all are small; else empty
};

/// SQNR of the result with the largest error, in decibels: infinite without errors; minus infinite if an element is
/// finite in only one of the two runs.
double worst_sqnr(const std::vector<ResultDeviation>& results);
/// Energy of the worst result's error over the energy of the reference.
double worst_noise(const std::vector<ResultDeviation>& results);

}  // namespace tern
