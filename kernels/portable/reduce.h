// Joins elements along some axes, for the op reduce and other reductions.
#pragma once

#include "kernels/portable/axes.h"
#include "kernels/portable/launches.h"
#include "schema/kinds.h"

namespace tern::portable {

/// Joins the elements of the first operand along `axes.reduced`, for all kinds except argmax, argmin and var. The first
/// result has the kept axes in their order, with any axes of a single element in between.
void reduce_axes(const KernelCall& c, Launches& list, const SplitAxes& axes, ReduceKind kind);

}  // namespace tern::portable
