// The largest or smallest element of a row and the first place where it is.
#pragma once

#include <string>

#include "kernels/portable/launches.h"
#include "kernels/portable/rows.h"

namespace tern::portable {

/// The larger or smaller of the macro's arguments a and b; NaN wins.
std::string extreme(bool max);

/// What text/argument_rows.inc needs but for its results: operand 0 as elements of `t`. `found`: what is done with
/// `at`, the place in row `item`.
Launch argument_rows(const KernelCall& c, const Rows& how, const Axes& rows, const Axes& columns, DType t, bool max,
                     const std::string& found);

}  // namespace tern::portable
