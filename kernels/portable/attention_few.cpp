// Division of attention with few queries into groups (text/attention_few.inc). Few groups should finish quickly, many
// groups should keep memory busy.
#include <algorithm>
#include <bit>

#include "kernels/portable/attention.h"
#include "kernels/portable/axes.h"

namespace tern::portable {
namespace {

constexpr std::int64_t kAttentionFewMaxLines = 16,
                       kAttentionFewMaxNarrowLines = 8;                 // fewer than the 16 of a wave of matrix units
constexpr std::int64_t kAttentionFewWidest = 256;                       // heads
constexpr std::int64_t kAttentionFewWidestChunk = 128;                  // columns of values of a group
constexpr std::int64_t kMultiprocessors = 128;                          // typical of a large device
constexpr std::int64_t kAttentionFewManyGroups = 2 * kMultiprocessors;  // enough to keep memory busy
constexpr std::int64_t kMostBytes = 256 << 10;  // keys and values per group; beyond this size a second launch is faster
constexpr std::int64_t kLeastBytes = 32 << 10;  // minimum per part
constexpr std::int64_t kAttentionFewMostGroups = std::int64_t{1} << 31;
constexpr std::int64_t kLoads = 8;  // loads of 16 bytes pending per item

struct AttentionFewRows {
  std::int64_t rows, items, run;  ///< per group: lines, items, the most keys
};
constexpr AttentionFewRows kRows[] = {{1, 256, 512}, {2, 256, 512}, {4, 256, 512}, {8, 128, 256}};

std::int64_t power_of_two(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n)));
}

/// Elements per 16 bytes in registers: types of other sizes become float.
std::int64_t elements_per_load(DType t) {
  return t == DType::f16 || t == DType::bf16 ? 8 : 4;
}

std::int64_t wide(const TensorView& v) {
  const bool kept = v.dtype == DType::f32 || v.dtype == DType::f16 || v.dtype == DType::bf16;
  return kept && is_wide(v, elements_per_load(v.dtype)) ? 1 : 0;
}

struct AttentionFewDivision {
  AttentionFewRows rows;
  std::int64_t blocks, run, parts, groups;
};

/// Divides `planes` of keys, and chunks of their values; a key and its value have `bytes`.
AttentionFewDivision divide(const AttentionFewRows& r, std::int64_t planes, std::int64_t lines, std::int64_t keys,
                            std::int64_t bytes) {
  AttentionFewDivision d{r, divided_up(lines, r.rows), std::max<std::int64_t>(keys, 1), 1, 0};
  const bool all = keys * bytes <= kMostBytes || planes * d.blocks >= kMultiprocessors;
  if (keys > r.run || !all) {
    const std::int64_t least = std::clamp<std::int64_t>(kLeastBytes / bytes, 1, r.run);
    const std::int64_t parts =
        divided_up(keys, std::clamp(divided_up(keys * planes, kAttentionFewManyGroups), least, r.run));
    d.run = divided_up(keys, parts);
    d.parts = divided_up(keys, d.run);
  }
  d.groups = planes * d.blocks * d.parts;
  return d;
}

/// The fewest rows (their groups end soonest) with at most a group per multiprocessor.
AttentionFewDivision choose(std::int64_t planes, std::int64_t lines, std::int64_t keys, std::int64_t bytes) {
  for (const AttentionFewRows& r : kRows) {
    const AttentionFewDivision d = divide(r, planes, lines, keys, bytes);
    if (d.groups <= kMultiprocessors || r.rows >= lines || r.rows == std::rbegin(kRows)->rows) return d;
  }
  return {};
}

}  // namespace

bool add_attention_few(const KernelCall& c, Launches& list) {
  const TensorView &q = c.in[0], &key = c.in[1], &v = c.in[2], &out = c.out[0];
  const int r = out.rank;
  const Target& target = list.target();
  if (!has_group_shuffles(target) || out.numel() == 0 || compute_type(q.dtype) != DType::f32) return false;
  const std::int64_t keys = key.size(r - 2), width = q.size(r - 1), out_width = out.size(r - 1);
  const std::int64_t rows = out.numel() / out_width, shared = shared_heads(c), lines = out.size(r - 2) * shared;
  const std::int64_t k_each = elements_per_load(key.dtype), v_each = elements_per_load(v.dtype);
  if (lines > (k_each == 8 ? kAttentionFewMaxNarrowLines : kAttentionFewMaxLines) || width == 0 ||
      width > kAttentionFewWidest)
    return false;

  const std::int64_t chunks = divided_up(out_width, kAttentionFewWidestChunk);
  const std::int64_t columns = divided_up(divided_up(out_width, chunks), v_each) * v_each;
  const std::int64_t bytes = std::max<std::int64_t>(width / k_each + columns / v_each, 1) * 16;
  const AttentionFewDivision d = choose(rows / lines * chunks, lines, keys, bytes);
  const std::int64_t items = d.groups * d.rows.items;
  if (d.groups >= kAttentionFewMostGroups || (target.dialect == Dialect::metal && items >= kAttentionFewMostGroups))
    return false;

  const std::int64_t quads = divided_up(width, k_each);
  const std::int64_t k_lanes = power_of_two(std::max(divided_up(quads, 4), std::min<std::int64_t>(quads, 4)));
  const std::int64_t k_quads = divided_up(quads, k_lanes);
  Launch k("attention_few");
  k.source.add_library("local_memory");
  declare_attention(k, c);
  k.source.define("ROWS", d.rows.rows);
  k.source.define("ITEMS", d.rows.items);
  k.source.define("RUN", d.rows.run);
  k.source.define("MASKS", std::min<std::int64_t>(2, d.rows.run * d.rows.rows / d.rows.items));
  k.source.define("HEAD", width);
  k.source.define("COLUMNS", columns);
  k.source.define("K_EACH", k_each);
  k.source.define("V_EACH", v_each);
  k.source.define("K_WIDE", wide(key));
  k.source.define("V_WIDE", wide(v));
  k.source.define("K_LANES", k_lanes);
  k.source.define("K_QUADS", k_quads);
  k.source.define("K_TOGETHER", std::clamp<std::int64_t>(kLoads / k_quads, 1, 4));
  k.source.define("V_LANES", power_of_two(columns / v_each));
  k.source.define("V_TOGETHER", d.rows.rows * v_each == 64 ? kLoads / 2 : kLoads);
  k.parameter("lines", lines);
  k.parameter("run", d.run);
  k.parameter("shared", shared);
  k.parameter("blocks", d.blocks);
  k.parameter("chunks", chunks);
  k.parameter("parts", d.parts);
  k.parameter("shared_inverse", inverse_of(shared));
  k.parameter("blocks_inverse", inverse_of(d.blocks));
  k.parameter("chunks_inverse", inverse_of(chunks));
  k.parameter("parts_inverse", inverse_of(d.parts));
  add_attention(list, std::move(k), c, d.parts, items, static_cast<std::uint32_t>(d.rows.items));
  return true;
}

}  // namespace tern::portable
