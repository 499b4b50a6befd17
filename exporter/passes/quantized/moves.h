// Integers stay integers where elements are only moved or chosen.
#pragma once

#include "schema/program.h"

namespace tern {

/// Where a program widens 8-bit integers, moves the numbers (views, concatenations) or takes the largest of them (max
/// pools), and quantizes them again to the integers that they were, the node in between is applied to the integers.
/// That they are the same is not read from the expressions: all 256 integers are taken there and back.
void keep_integers(Program& program);

}  // namespace tern
