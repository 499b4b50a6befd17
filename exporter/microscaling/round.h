// Rounding to MX blocks in a run: what activations become beside MX weights.
#pragma once

#include "exporter/microscaling/narrow_floats.h"

namespace tern::microscaling {

/// The numbers that torchao's to_mx keeps of x [.., k], in blocks of `block` elements along the last axis, which they
/// divide: element times scale, converted to `result`. `rule` says how scales follow from a block's largest magnitude:
/// torchao's floor, ceil, even or rceil; fails (unsupported) for another one.
ValueId rounded(Builder& b, ValueId x, const NarrowFloat& type, std::int64_t block, std::string_view rule,
                DType result);

/// The same while a .pt2 is imported: the gradient passes as if `x` were not rounded, as PyTorch's does, until
/// remove_detached() (exporter/gradients/detach.h).
ValueId rounded_with_gradient(Builder& b, ValueId x, const NarrowFloat& type, std::int64_t block,
                              std::string_view rule);

}  // namespace tern::microscaling
