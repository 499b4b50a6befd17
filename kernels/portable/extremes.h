// The largest or smallest element of a row and the first place where it is.
#pragma once

#include <functional>
#include <string>

#include "kernels/portable/launches.h"
#include "kernels/portable/rows.h"

namespace tern::portable {

/// The larger or smaller of the macro's arguments a and b; NaN wins.
std::string extreme(bool max);

/// Adds the launches that find the place in each row of operand 0, as elements of `t`, on devices that have a form for
/// such rows; else it says that there are none. `results` declares what is written and defines FOUND, which writes for
/// row `item`; there PLACE is the place, and EXTREME the operand's element.
bool add_argument(const KernelCall& c, Launches& list, const Axes& rows, const Axes& columns, DType t, bool max,
                  const std::function<void(Launch&)>& results);

}  // namespace tern::portable
