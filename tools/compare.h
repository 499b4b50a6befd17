// Compares a result with a golden tensor by the rules of torch.testing.assert_close.
#pragma once

#include <tern/dtype.h>

#include <cstdint>
#include <optional>
#include <string>

#include "tools/files/host_tensor.h"

namespace tern {

/// Two elements are close if |actual - golden| <= atol + rtol * |golden|. Both 0 means bit for bit: the same value and
/// the same sign of zero.
struct Tolerance {
  double rtol = 0;
  double atol = 0;
};

/// The defaults of torch.testing.assert_close; 0 for types without a default (integers, booleans, float8 and smaller).
Tolerance default_tolerance(DType golden);

/// Distance of a number of this magnitude to the next number. 0 for exact types. Complex types: distance of a part.
double unit_of_last_place(DType dtype, double magnitude);

/// The element with the largest error. index is row-major; -1 if no element has an error above 0.
struct WorstElement {
  double error = 0;
  std::int64_t index = -1;
};

struct Comparison {
  bool ok = false;
  std::string mismatch;  ///< description of differing dtype or shape; then the members below are empty
  Tolerance tolerance;   ///< the applied tolerance
  std::int64_t elements = 0;
  std::int64_t mismatches = 0;
  std::int64_t first_mismatch = -1;
  /// Maxima over all elements, including elements within the tolerance. Infinite for a single NaN and for differing
  /// infinities.
  WorstElement absolute;
  WorstElement relative;  ///< relative to |golden|
  /// The largest error in units of the last place of the largest magnitude in the same row (along the last axis); for
  /// floating and complex types. Only for reports.
  double worst_ulp = 0;
};

/// Compares tensors. NaN equals NaN at the same position whatever the payload; infinities must agree. A complex element
/// is NaN if a part is NaN (see torch.isclose), except bit for bit: then parts are compared separately. Computes in
/// double, for 64-bit integers exactly. Without a tolerance the default for the golden's type applies; a negative or
/// NaN tolerance is an invalid_argument.
Comparison compare(const HostTensor& actual, const HostTensor& golden, std::optional<Tolerance> tolerance = {});

/// Describes the result in a line: "equal", "within the tolerance: ...", or the differences, with positions and values.
std::string describe(const Comparison& comparison, const HostTensor& actual, const HostTensor& golden);

}  // namespace tern
