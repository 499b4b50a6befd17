// unique: sorted positions of rows, by a merge sort or, for single elements, by groups; then the first of each group of
// equal rows.
#include "kernels/portable/axes.h"
#include "kernels/portable/counting.h"
#include "kernels/portable/definitions.h"
#include "kernels/portable/movement.h"
#include "kernels/portable/sort_groups.h"

namespace tern::portable {
namespace {

/// Slices of x along an axis as rows; without an axis each element is a row.
struct UniqueRows {
  Axes row, outer, inner, across;  ///< start of a row; axes within a row: before, after, all
};

UniqueRows rows_of(const Node& node, const TensorView& x) {
  UniqueRows r;
  const bool by_axis = node.has(AttrKey::axis);
  const int axis = by_axis ? axis_of(node, x.rank) : -1;
  for (int i = 0; i < x.rank; ++i) {
    if (!by_axis || i == axis) {
      r.row.add(x.size(i), x.stride(i));
    } else {
      (i < axis ? r.outer : r.inner).add(x.size(i), x.stride(i));
      r.across.add(x.size(i), x.stride(i));
    }
  }
  return r;
}

/// Scratch offsets of the launches' results, after the counting's.
struct UniqueLayout {
  Counting groups;
  std::uint64_t indices[2], first, starts;
};

UniqueLayout layout_of_unique(Launches& list, std::int64_t rows) {
  UniqueLayout l;
  l.groups = make_counting(list, rows);
  const std::uint64_t bytes = static_cast<std::uint64_t>(rows) * sizeof(std::int64_t);
  l.indices[0] = list.scratch(bytes);
  l.indices[1] = list.scratch(bytes);
  l.first = list.scratch(bytes);
  l.starts = list.scratch(bytes);
  return l;
}

/// True if single-element rows are sorted by groups: their positions are then in places[0].
bool sorted_by_groups(const Launches& list, const Node& node, const TensorView& x, const UniqueRows& rows) {
  return rows.across.count == 1 && node.integer(AttrKey::consecutive) == 0 &&
         sorts_by_groups(list.target(), x.dtype, rows.row.count);
}

void sort_elements(Launches& list, const TensorView& x, const UniqueRows& rows, const UniqueLayout& l) {
  const SortedLines sorted{0, x.dtype, {}, rows.row, false, rows.row.count};
  sort_by_groups(list, sorted, [&](Launch& k) {
    k.scratch("order", l.indices[0], DType::i64, true);
    k.source.define("FOUND(line, k, v, place)", "order[k] = place;");
  });
}

/// Passes of the merge sort otherwise: the positions are then in places[passes % 2].
int passes_of(const Launches& list, const Node& node, const TensorView& x, const UniqueRows& all) {
  int passes = 0;
  if (sorted_by_groups(list, node, x, all)) return passes;
  const std::int64_t rows = all.row.count;
  for (std::int64_t run = 1; run < rows && node.integer(AttrKey::consecutive) == 0; run *= 2) ++passes;
  return passes;
}

void declare_rows(Launch& k, const TensorView& x, const UniqueRows& rows) {
  const DType t = number_type(x.dtype);
  k.type("VALUE_T", t);
  k.source.define("IS_NAN(a)", is_floating(t) ? "((a) != (a))" : "0");
  k.source.add_library("order");
  k.input("x", 0, x.dtype);
  k.load("LOAD_X", x.dtype, t);
  rows.row.declare(k.source, "row");
  rows.across.declare(k.source, "across");
  k.source.define("LOAD_ROW(r, k)", "LOAD_X(x, at_row(r, &p) + at_across(k, &p))");
  k.parameter("width", rows.across.count);
  k.parameter("count", rows.row.count);
}

void unique(const KernelCall& c, Launches& list) {
  const TensorView& x = c.in[0];
  const UniqueRows rows = rows_of(*c.node, x);
  const std::int64_t n = rows.row.count;
  const UniqueLayout l = layout_of_unique(list, n);
  if (sorted_by_groups(list, *c.node, x, rows)) {
    sort_elements(list, x, rows, l);
  } else {
    Launch start("iota_places");
    start.scratch("places", l.indices[0], DType::i64, true);
    start.parameter("count", n);
    list.add(std::move(start), n);
  }
  const int passes = passes_of(list, *c.node, x, rows);
  for (int i = 0; i < passes; ++i) {
    Launch merge("unique_merge");
    declare_rows(merge, x, rows);
    merge.scratch("places", l.indices[i % 2], DType::i64, false);
    merge.scratch("to_places", l.indices[1 - i % 2], DType::i64, true);
    merge.parameter("run", std::int64_t{1} << i);
    list.add(std::move(merge), n);
  }
  const std::uint64_t places = l.indices[passes % 2];
  Launch first("unique_first");
  declare_rows(first, x, rows);
  first.scratch("places", places, DType::i64, false);
  first.scratch("first", l.first, DType::i64, true);
  list.add(std::move(first), n);
  Launch counts("count_blocks");
  counts.scratch("first", l.first, DType::i64, false);
  counts.source.define("IS_COUNTED(i)", "first[i] != 0");
  add_counting(list, std::move(counts), l.groups);
  Launch groups("unique_groups");
  groups.scratch("first", l.first, DType::i64, false);
  groups.scratch("places", places, DType::i64, false);
  groups.scratch("starts", l.starts, DType::i64, true);
  declare_counts(groups, l.groups, false);
  groups.source.define("INVERSE", c.wants_output(1) ? 1 : 0);
  if (c.wants_output(1)) groups.output("inverse", 1, DType::i64);
  list.add(std::move(groups), l.groups.blocks);
}

void run_unique(KernelCall& call) {
  run_launches(call);
  const std::int64_t count = read_total(call);
  const TensorView& x = call.in[0];
  const UniqueRows rows = rows_of(*call.node, x);
  std::vector<std::int64_t> sizes = {count};
  if (call.node->has(AttrKey::axis)) {
    sizes.assign(x.shape().begin(), x.shape().end());
    sizes[static_cast<std::size_t>(axis_of(*call.node, x.rank))] = count;
  }
  allocate_result(call, count, sizes);
  const std::int64_t n = rows.row.count;
  Launches list(call);
  const UniqueLayout l = layout_of_unique(list, n);
  const DType t = carrier(x.dtype);
  Launch k("unique_end");
  k.source.define("GROUPS", std::int64_t{0});
  k.scratch("places", l.indices[passes_of(list, *call.node, x, rows) % 2], DType::i64, false);
  k.scratch("starts", l.starts, DType::i64, false);
  k.input("x", 0, t);
  k.output("out", 0, t);
  rows.row.declare(k.source, "row");
  rows.outer.declare(k.source, "outer");
  rows.inner.declare(k.source, "inner");
  const std::int64_t elements = rows.outer.count * count * rows.inner.count;
  k.parameter("count", elements);
  k.parameter("groups", count);
  k.parameter("inner", rows.inner.count);
  list.add(std::move(k), elements);
  if (call.wants_output(2)) {
    call.allocator->allocate(2, {&count, 1}, &call.out[2]);
    Launch s("unique_end");
    s.source.define("GROUPS", 1);
    s.scratch("starts", l.starts, DType::i64, false);
    s.output("sizes", 2, DType::i64);
    s.parameter("count", count);
    s.parameter("rows", n);
    list.add(std::move(s), count);
  }
  list.run(call);
}

}  // namespace

void define_unique(Definitions& d) {
  Kernel k = kernel<unique>();
  k.run = run_unique;
  d.set(Op::unique, k);
}

}  // namespace tern::portable
