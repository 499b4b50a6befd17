// Attention with one query per head and several heads per key and value head: a step of a decoder.
#pragma once

#include <array>
#include <optional>

#include "kernels/kernel.h"

namespace tern::cpu {

/// Operands and result of a call, viewed as fewer heads with several queries each. Keys and values dominate the work
/// and are then read once for all queries.
struct SharedHeads {
  std::array<TensorView, 4> in;
  TensorView out;
};

/// Returns nullopt if heads share no keys, or if fewer than `threads` heads would remain.
std::optional<SharedHeads> share_heads(const KernelCall& c, std::int64_t threads);

}  // namespace tern::cpu
