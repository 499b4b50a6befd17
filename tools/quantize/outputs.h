// The error of a quantized program's results, against those of the program of floats.
#pragma once

#include <vector>

#include "tools/verify/results.h"

namespace tern {

class OutputErrors {
 public:
  /// Runs the reference once, and again in each measurement only where its results take much memory. Fails
  /// (invalid_argument) where the samples do not fit the function, where no result is a floating tensor, and where one
  /// of floats is NaN already.
  OutputErrors(Side reference, const Calls& calls);

  /// Of each floating result, all samples as one. Inputs and states that the program writes are results, too.
  std::vector<ResultDeviation> measure(const Side& side) const;

 private:
  Side reference_;
  const Calls& calls_;
  Prepared prepared_;
  std::vector<std::vector<Left>> kept_;  ///< the reference's results by call, where all of them are small; else empty
};

/// Of the result with the largest error, in decibels: infinite without errors; minus infinite where an element is
/// finite in one run only.
double worst_sqnr(const std::vector<ResultDeviation>& results);
/// The energy of its error over that of the reference.
double worst_noise(const std::vector<ResultDeviation>& results);

}  // namespace tern
