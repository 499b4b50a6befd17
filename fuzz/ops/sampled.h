#pragma once

#include "fuzz/ops/make.h"

namespace tern::fuzz {

/// Whether the op's definition has samples (kernels/portable/definitions.h).
bool is_sampled(Op op);
/// Makes a program of such an op.
void make_sampled(Make& m);

}  // namespace tern::fuzz
