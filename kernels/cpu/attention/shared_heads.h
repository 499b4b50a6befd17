// Attention of one query for each head, where several heads share keys and values: of a decoder's step.
#pragma once

#include <array>
#include <optional>

#include "kernels/kernel.h"

namespace tern::cpu {

/// The operands and the result of such a call, seen as fewer heads of several queries: keys and values, which are most
/// of the work, are then read once for all of these.
struct SharedHeads {
  std::array<TensorView, 4> in;
  TensorView out;
};

/// Nothing where heads are not shared, or are fewer than `threads` then.
std::optional<SharedHeads> share_heads(const KernelCall& c, std::int64_t threads);

}  // namespace tern::cpu
