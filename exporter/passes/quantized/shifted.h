// Products of signed integers that a program makes unsigned first.
#pragma once

#include "schema/program.h"

namespace tern {

/// torchao adds 128 to int8 activations on processors whose instructions multiply uint8 by int8, and takes 128 times
/// the weight's column sums out of the result. Such a product becomes the one of the int8 activations, whose sums are
/// the same integers. The column sums are compared with the weight, not trusted.
void multiply_signed_integers(Program& program);

}  // namespace tern
