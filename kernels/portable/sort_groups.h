// Lines put in order by groups: short ones in local memory by one launch, long ones by blocks that are merged then, and
// the first few of a long one without the others.
#pragma once

#include <cstdint>
#include <functional>

#include "kernels/portable/axes.h"
#include "kernels/portable/launches.h"

namespace tern::portable {

struct SortedLines {
  std::size_t operand = 0;
  DType dtype = DType::invalid;  ///< of the operand
  Axes lines, along;             ///< where they begin, and their elements
  bool descending = false;       ///< NaN is above all; equal elements keep their order
  std::int64_t kept = 0;         ///< elements of each line in order that are asked for: at least one
};

/// Defines what the texts of sorts compare: VALUE_T and COMES_BEFORE.
void declare_order(Source& s, DType t, bool descending);

/// Whether a device puts lines in order by groups.
bool sorts_by_groups(const Target& target, DType t, std::int64_t length);

/// Adds the launches, on devices that do; else it says that there are none. `results` declares what is written and
/// defines FOUND(line, k, v, place): element k of a line in order, of number_type(dtype), and where it was in its line.
bool sort_by_groups(Launches& list, const SortedLines& lines, const std::function<void(Launch&)>& results);

}  // namespace tern::portable
