// The largest or smallest element of a row and its first position.
#pragma once

#include <functional>
#include <string>

#include "kernels/portable/launches.h"
#include "kernels/portable/rows.h"

namespace tern::portable {

/// The larger or smaller of the macro's arguments a and b; NaN wins.
std::string extreme(bool max);

/// Adds launches finding the position in each row of operand 0, with elements of type `t`, on devices with a form for
/// such rows; returns false otherwise. `results` declares the outputs and defines FOUND, the statement writing the
/// results of row `item`, with PLACE as the position and EXTREME as the operand's element.
bool add_argument(const KernelCall& c, Launches& list, const Axes& rows, const Axes& columns, DType t, bool max,
                  const std::function<void(Launch&)>& results);

}  // namespace tern::portable
