// Rounds activations to MX blocks during a run, for products with MX weights.
#pragma once

#include "exporter/microscaling/narrow_floats.h"

namespace tern::microscaling {

/// Rounds x [.., k] as torchao's to_mx does: element times scale, converted to `result`. Blocks are `block` elements
/// along the last axis, whose size is a multiple. `rule` computes a scale from the block's largest magnitude: torchao's
/// floor, ceil, even or rceil; any other rule fails (unsupported).
ValueId round_to_mx(Builder& b, ValueId x, const NarrowFloat& type, std::int64_t block, std::string_view rule,
                    DType result);

/// The same for the importer. The gradient ignores the rounding (straight-through), as in PyTorch, until
/// remove_detached() (exporter/gradients/detach.h).
ValueId round_to_mx_with_gradient(Builder& b, ValueId x, const NarrowFloat& type, std::int64_t block,
                                  std::string_view rule);

}  // namespace tern::microscaling
