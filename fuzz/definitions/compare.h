// Whether results are those of a definition: the same bits, or as near to the float64 result as rounding permits.
#pragma once

#include <span>
#include <string>

#include "fuzz/definitions/node_case.h"

namespace tern::fuzz {

struct Verdict {
  bool ok = true;
  /// Of all elements, the largest share of its bound that an error takes; 0 if all bits are the same.
  double share = 0;
  std::string difference;  ///< the first that is not allowed
};

/// All bits are the same. Every NaN is the same one.
Verdict same_bits(const Results& actual, const Results& defined);

/// What the definition gives in float64, and for operands that differ in their last places: how much a result depends
/// on these is how exact it can be. All empty where there is no such program.
struct References {
  Results exact;
  std::vector<Results> shaken;
};

/// Integers, booleans and places: the same, but where a shaken operand changes them. Numbers: an error is at most a
/// unit in the last place of the result's type, a few units of the type that it is computed in for the square root of
/// `terms`, as much for what the shaken operands change, and four errors of the definition itself.
Verdict near(const Results& actual, const Results& defined, const References& references, double terms);

}  // namespace tern::fuzz
