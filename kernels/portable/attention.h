// Common code of attention kernels: operands, and the two stages for keys divided into parts.
#pragma once

#include <cstdint>

#include "kernels/portable/launches.h"

namespace tern::portable {

/// Declares all operands except the result, their types, sizes and strides.
void declare_attention(Launch& k, const KernelCall& c);

/// Adds `k` with `items` items, and a launch joining its parts if there are several (PARTS). `k` then writes sums, and
/// the largest score and the total of weights of each query; else the result.
void add_attention(Launches& list, Launch k, const KernelCall& c, std::int64_t parts, std::int64_t items,
                   std::uint32_t group = 0);

inline std::int64_t divided_up(std::int64_t n, std::int64_t by) {
  return (n + by - 1) / by;
}
/// True if `columns` columns, 16 bytes, can be read at once, provided the first address is a multiple of 16.
bool is_wide(const TensorView& v, std::int64_t columns);

/// Query heads sharing a head of keys and values: the axis before the last two.
std::int64_t shared_heads(const KernelCall& c);

/// True if texts of groups have TERN_SHUFFLE_XOR.
bool has_group_shuffles(const Target& target);

/// Attention for few queries (text/attention_few.inc); results as in add_attention_blocks.
bool add_attention_few(const KernelCall& c, Launches& list);

/// Attention by blocks (text/attention_blocks.inc), on devices with groups; false if the definition must run. The bits
/// differ from the definition's.
bool add_attention_blocks(const KernelCall& c, Launches& list);

}  // namespace tern::portable
