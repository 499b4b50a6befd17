// Compares results with a definition: the same bits, or an error within the rounding of the float64 result.
#pragma once

#include <span>
#include <string>

#include "fuzz/definitions/node_case.h"

namespace tern::fuzz {

struct Verdict {
  bool ok = true;
  /// Largest ratio of an element's error to the allowed error; 0 if all bits are equal.
  double share = 0;
  std::string difference;  ///< the first unacceptable difference
};

/// Compares all bits. All NaN are equal.
Verdict compare_all_bits(const NodeResults& actual, const NodeResults& defined);

/// Results of the definition in float64, and for operands shaken in their last bits: the sensitivity bounds the
/// attainable accuracy. All empty if no such program exists.
struct References {
  NodeResults exact;
  std::vector<NodeResults> shaken;
};

/// Integers, booleans and positions must be equal, unless a shaken operand changes the value. The error of a float is
/// at most a unit in the last place of the result's type, a few units of the compute type times the square root of
/// `terms`, as much for the change by shaken operands, and four errors of the definition itself.
Verdict compare_near(const NodeResults& actual, const NodeResults& defined, const References& references, double terms);

}  // namespace tern::fuzz
