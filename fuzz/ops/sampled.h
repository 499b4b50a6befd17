#pragma once

#include "fuzz/ops/make.h"

namespace tern::fuzz {

/// True if the op's definition has samples (kernels/portable/definitions.h).
bool is_sampled(Op op);
/// Makes a program of a sampled op.
void make_sampled(Make& m);

}  // namespace tern::fuzz
