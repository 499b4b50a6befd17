// Compares a result with a golden tensor, as torch.testing.assert_close does.
#pragma once

#include <tern/dtype.h>

#include <cstdint>
#include <optional>
#include <string>

#include "tools/files/host_tensor.h"

namespace tern {

/// Two elements are close when |actual - golden| <= atol + rtol * |golden|. Both 0 means bit for bit: the same value
/// and the same sign of zero.
struct Tolerance {
  double rtol = 0;
  double atol = 0;
};

/// The defaults of torch.testing.assert_close; 0 for the types that it has none for (integers, booleans, float8 and
/// smaller).
Tolerance default_tolerance(DType golden);

/// Of a number of this size: the difference to the next one. 0 for types that are exact. Complex types: of a part.
double unit_of_last_place(DType dtype, double magnitude);

/// The element with the largest error. index is row-major; -1 when no element has an error above 0.
struct WorstElement {
  double error = 0;
  std::int64_t index = -1;
};

struct Comparison {
  bool ok = false;
  std::string mismatch;  ///< how dtype or shape differ; then nothing below is filled in
  Tolerance tolerance;   ///< the one that was applied
  std::int64_t elements = 0;
  std::int64_t mismatches = 0;
  std::int64_t first_mismatch = -1;
  /// Over all elements, those within the tolerance too. Infinite where only one is NaN or where infinities differ.
  WorstElement absolute;
  WorstElement relative;  ///< to |golden|
  /// The largest error in units of the last place of the largest magnitude in the same row (along the last axis); for
  /// floating and complex types. For reports: it decides nothing.
  double worst_ulp = 0;
};

/// NaN equals NaN at the same place whatever its payload; infinities must agree. A complex element is NaN when one of
/// its parts is (as in torch.isclose), except bit for bit, where each part is compared. Works in double, for 64-bit
/// integers exactly. Without a tolerance the default for the golden's type applies; one that is negative or NaN is an
/// invalid_argument.
Comparison compare(const HostTensor& actual, const HostTensor& golden, std::optional<Tolerance> tolerance = {});

/// One line: "equal", "within the tolerance: ...", or what differs, with places and values.
std::string describe(const Comparison& comparison, const HostTensor& actual, const HostTensor& golden);

}  // namespace tern
