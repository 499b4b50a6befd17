// Sorting lines by groups: short lines in local memory by a single launch, long lines by blocks and merging, and the
// first few elements of a long line without sorting the others.
#pragma once

#include <cstdint>
#include <functional>

#include "kernels/portable/axes.h"
#include "kernels/portable/launches.h"

namespace tern::portable {

struct SortedLines {
  std::size_t operand = 0;
  DType dtype = DType::invalid;  ///< type of the operand
  Axes lines, along;             ///< starts of the lines, and their elements
  bool descending = false;       ///< NaN is above all numbers; equal elements keep their order
  std::int64_t selected = 0;     ///< number of leading sorted elements requested per line: at least one
};

/// Defines the comparison in the texts of sorts: VALUE_T and COMES_BEFORE.
void declare_order(KernelSource& s, DType t, bool descending);

/// True if a device sorts lines by groups.
bool sorts_by_groups(const Target& target, DType t, std::int64_t length);

/// Adds the launches on devices sorting by groups; returns false otherwise. `results` declares the outputs and defines
/// FOUND(line, k, v, place): element k of a sorted line, of number_type(dtype), and its position in the unsorted line.
bool sort_by_groups(Launches& list, const SortedLines& lines, const std::function<void(Launch&)>& results);

}  // namespace tern::portable
