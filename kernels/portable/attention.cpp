// attention without scores in memory (FlashAttention, Dao et al. 2022): a query for each item, and a part of the keys
// for few queries.
#include "kernels/portable/attention.h"

#include <algorithm>
#include <cmath>

#include "kernels/attention_parts.h"
#include "kernels/portable/axes.h"
#include "kernels/portable/definitions.h"
#include "schema/absent.h"

namespace tern::portable {
namespace {

/// The axes before the last two of the result, in the layout of `v`: axes of a single element repeat, and so do heads
/// of keys and values, `per_group` times each.
void declare_planes(Launch& k, const char* name, const TensorView& v, const TensorView& out) {
  Axes planes;
  for (int i = 0; i < out.rank - 2; ++i) {
    const int at = i - (out.rank - v.rank);
    const std::int64_t size = out.size(i), own = at < 0 ? 1 : v.size(at);
    if (own <= 1) {
      planes.add(size, 0);
    } else {
      planes.add(own, v.stride(at));
      planes.add(size / own, 0);
    }
  }
  planes.declare(k.source, name);
}

std::int64_t step(const TensorView& v, int from_end) {
  return v.rank < from_end || v.size(v.rank - from_end) == 1 ? 0 : v.stride(v.rank - from_end);
}

void attention(const KernelCall& c, Launches& list) {
  const TensorView& out = c.out[0];
  if (out.numel() == 0) return;
  const std::int64_t out_width = out.size(out.rank - 1), rows = out.numel() / out_width;
  const auto [chunk, chunks, run, parts] = attention_parts(rows, c.in[1].size(out.rank - 2), out_width);
  const std::int64_t items = rows * chunks;

  Launch k("attention");
  declare_attention(k, c);
  k.source.define("CHUNK", chunk);
  k.parameter("chunks", chunks);
  k.parameter("run", run);
  k.parameter("count", items * parts);
  add_attention(list, std::move(k), c, parts, items * parts);
}

void faster_attention(const KernelCall& c, Launches& list) {
  if (!add_attention_few(c, list) && !add_attention_blocks(c, list)) attention(c, list);
}

/// Joins the parts of `sums` and the other partial results to the result: in the definition's order, or by groups.
void add_join(Launches& list, const KernelCall& c, Launch join, std::int64_t rows, std::int64_t parts, bool groups) {
  const TensorView& out = c.out[0];
  const std::int64_t out_width = out.size(out.rank - 1);
  join.output("out", 0, out.dtype);
  join.store("STORE", compute_type(c.in[0].dtype), out.dtype);
  join.parameter("rows", rows);
  join.parameter("out_width", out_width);
  join.parameter("parts", parts);
  if (!groups) {
    // Small groups, because there are few elements.
    constexpr std::uint32_t kJoining = 64;
    const std::int64_t elements = (out.numel() + kJoining - 1) / kJoining * kJoining;
    join.parameter("count", out.numel());
    return list.target().groups ? list.add(std::move(join), elements, kJoining)
                                : list.add(std::move(join), out.numel());
  }
  constexpr std::int64_t kItems = 256, kLanes = 32;  // of attention_join_rows.inc
  const std::int64_t blocks = (out_width + kLanes - 1) / kLanes;
  join.source.define("ITEMS", kItems);
  join.parameter("blocks", blocks);
  join.parameter("blocks_inverse", inverse_of(blocks));
  list.add(std::move(join), rows * blocks * kItems, kItems);
}

}  // namespace

bool is_wide(const TensorView& v, std::int64_t columns) {
  if (v.size(v.rank - 1) % columns != 0 || v.stride(v.rank - 1) != 1) return false;
  for (int i = 0; i < v.rank - 1; ++i) {
    if (v.size(i) > 1 && v.stride(i) % columns != 0) return false;
  }
  return true;
}

std::int64_t shared_heads(const KernelCall& c) {
  const TensorView &key = c.in[1], &out = c.out[0];
  return out.rank < 3 ? 1 : out.size(out.rank - 3) / std::max<std::int64_t>(key.size(out.rank - 3), 1);
}

bool has_group_shuffles(const Target& target) {
  return target.groups && target.dialect != Dialect::opencl && target.dialect != Dialect::cpp;
}

void declare_attention(Launch& k, const KernelCall& c) {
  const TensorView &q = c.in[0], &key = c.in[1], &v = c.in[2], &out = c.out[0];
  const int r = out.rank;
  const DType t = compute_type(q.dtype);
  k.type("T", t);
  k.source.math("MATH", t);
  k.source.define("CAUSAL", c.node->integer(AttrKey::causal) != 0 ? 1 : 0);
  k.input("q", 0, q.dtype);
  k.input("k", 1, key.dtype);
  k.input("v", 2, v.dtype);
  k.load("LOAD_Q", q.dtype, t);
  k.load("LOAD_K", key.dtype, t);
  k.load("LOAD_V", v.dtype, t);
  // Weights of 16-bit values are rounded to the values' type, like on the CPU.
  k.source.define("ROUND(w)", converted(v.dtype, t, converted(t, v.dtype, "(w)")));
  const bool masked = c.has_input(3);
  k.source.define("MASK", !masked ? 0 : c.in[3].dtype == DType::boolean ? 1 : 2);
  if (masked) {
    const TensorView& mask = c.in[3];
    k.input("mask", 3, mask.dtype);
    k.load("LOAD_MASK", mask.dtype, mask.dtype == DType::boolean ? DType::boolean : t);
    declare_planes(k, "mask", mask, out);
    k.parameter("mask_row", step(mask, 2));
    k.parameter("mask_column", step(mask, 1));
  }
  declare_planes(k, "q", q, out);
  declare_planes(k, "k", key, out);
  declare_planes(k, "v", v, out);
  k.parameter("q_row", q.stride(r - 2));
  k.parameter("q_column", q.stride(r - 1));
  k.parameter("k_row", key.stride(r - 2));
  k.parameter("k_column", key.stride(r - 1));
  k.parameter("v_row", v.stride(r - 2));
  k.parameter("v_column", v.stride(r - 1));
  const std::int64_t out_width = out.size(r - 1), width = q.size(r - 1);
  k.parameter("rows", out.numel() / out_width);
  k.parameter("queries", out.size(r - 2));
  k.parameter("keys", key.size(r - 2));
  k.parameter("width", width);
  k.parameter("out_width", out_width);
  k.source.parameter("scale", t, attention_scale(*c.node, width));
}

void add_attention(Launches& list, Launch k, const KernelCall& c, std::int64_t parts, std::int64_t items,
                   std::uint32_t group) {
  const TensorView& out = c.out[0];
  const DType t = compute_type(c.in[0].dtype);
  const std::int64_t out_width = out.size(out.rank - 1), rows = out.numel() / out_width;
  k.source.define("PARTS", parts == 1 ? 0 : 1);
  if (parts == 1) {
    k.output("out", 0, out.dtype);
    k.store("STORE", t, out.dtype);
    return list.add(std::move(k), items, group);
  }
  const auto bytes = static_cast<std::uint64_t>(element_size(t)) * static_cast<std::uint64_t>(rows * parts);
  const std::uint64_t sums = list.scratch(bytes * static_cast<std::uint64_t>(out_width));
  const std::uint64_t tops = list.scratch(bytes), totals = list.scratch(bytes);
  k.scratch("out", sums, t, true);
  k.scratch("tops", tops, t, true);
  k.scratch("totals", totals, t, true);
  k.store("STORE", t, t);
  list.add(std::move(k), items, group);

  const bool groups = group != 0 && has_group_shuffles(list.target());
  Launch join(groups ? "attention_join_rows" : "attention_join");
  join.type("T", t);
  join.source.math("MATH", t);
  join.scratch("sums", sums, t, false);
  join.scratch("tops", tops, t, false);
  join.scratch("totals", totals, t, false);
  add_join(list, c, std::move(join), rows, parts, groups);
}

void define_attention(Definitions& d) {
  d.set(Op::attention, kernel<attention>());
  d.set_faster(Op::attention, kernel<faster_attention>());
}

}  // namespace tern::portable
