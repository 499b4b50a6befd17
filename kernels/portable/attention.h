// What kernels of attention have in common: operands, and the two stages where keys are divided into parts.
#pragma once

#include <cstdint>

#include "kernels/portable/launches.h"

namespace tern::portable {

/// All operands but the result, their types, sizes and strides.
void declare_attention(Launch& k, const KernelCall& c);

/// Adds `k`, `items` in all, and what joins its parts where there are several: PARTS says so. `k` then writes sums, and
/// the largest score and the total of weights of each query; else the result.
void add_attention(Launches& list, Launch k, const KernelCall& c, std::int64_t parts, std::int64_t items,
                   std::uint32_t group = 0);

inline std::int64_t divided_up(std::int64_t n, std::int64_t by) {
  return (n + by - 1) / by;
}
/// Whether `columns` columns, 16 bytes, can be read at once, if the first one's address is a multiple of 16.
bool is_wide(const TensorView& v, std::int64_t columns);

/// Heads of queries that share a head of keys and values: the axis before the last two.
std::int64_t shared_heads(const KernelCall& c);

/// Whether texts of groups have TERN_SHUFFLE_XOR.
bool has_group_shuffles(const Target& target);

/// For few queries (text/attention_few.inc), as add_attention_blocks.
bool add_attention_few(const KernelCall& c, Launches& list);

/// By blocks (text/attention_blocks.inc), on devices with groups; false where the definition has to do it. The bits are
/// not the definition's.
bool add_attention_blocks(const KernelCall& c, Launches& list);

}  // namespace tern::portable
