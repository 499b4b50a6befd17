// Elements along some axes joined into one, for the op reduce and for others that are such a reduction.
#pragma once

#include "kernels/portable/axes.h"
#include "kernels/portable/launches.h"
#include "schema/kinds.h"

namespace tern::portable {

/// Joins the elements of the first operand along `axes.reduced`, all kinds but argmax, argmin and var. The first result
/// has the kept axes in their order, whatever others of one element lie between them.
void reduce_axes(const KernelCall& c, Launches& list, const SplitAxes& axes, ReduceKind kind);

}  // namespace tern::portable
