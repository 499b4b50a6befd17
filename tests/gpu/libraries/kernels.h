// The kernels of the stand-ins.
#pragma once

#include "tests/gpu/kernel.h"

namespace tern::stand_in {

void product(const tern_emulated_launch* launch);
void attention(const tern_emulated_launch* launch);
void convolution(const tern_emulated_launch* launch);
void collective(const tern_emulated_launch* launch);
void solver(const tern_emulated_launch* launch);

}  // namespace tern::stand_in
