// gather, index_select, index, index_put and scatter.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "kernels/portable/axes.h"
#include "kernels/portable/definitions.h"
#include "kernels/portable/movement.h"
#include "kernels/portable/quantized.h"
#include "kernels/quantized_view.h"
#include "schema/kinds.h"

namespace tern::portable {
namespace {

void gather(const KernelCall& c, Launches& list) {
  const TensorView x = as_line(c.in[0]), index = as_line(c.in[1]);
  const int axis = axis_of(*c.node, x.rank);
  TensorView rest = index;
  for (int i = 0; i < x.rank; ++i) rest.strides[static_cast<std::size_t>(i)] = i == axis ? 0 : x.stride(i);
  const DType t = carrier(x.dtype);
  Launch k("gather");
  k.input("x", 0, t);
  k.input("index", 1, index.dtype);
  k.output("out", 0, t);
  k.may_fail();
  k.source.view("index", index);
  k.source.view("rest", rest);
  k.parameter("count", index.numel());
  k.parameter("size", x.size(axis));
  k.parameter("step", x.stride(axis));
  list.add(std::move(k), index.numel());
}

/// The numbers of rows of a quantized value.
void select_quantized(const KernelCall& c, Launches& list) {
  const TensorView &x = c.in[0], &index = c.in[1], &out = c.out[0];
  const QuantizedMatrix m = quantized_matrix(x);
  const int axis = axis_of(*c.node, x.rank);
  std::int64_t inner = 1;
  for (int i = axis + 1; i + 1 < x.rank; ++i) inner *= x.size(i);
  Launch k("index_select_quantized");
  declare_quantized(k, "x", 0, m);
  k.input("index", 1, index.dtype);
  k.output("out", 0, out.dtype);
  k.store("STORE", DType::f32, out.dtype);
  k.may_fail();
  k.source.view("index", index);
  k.parameter("count", out.numel());
  k.parameter("columns", m.columns);
  k.parameter("inner", inner);
  k.parameter("entries", index.numel());
  k.parameter("size", x.size(axis));
  list.add(std::move(k), out.numel());
}

void index_select(const KernelCall& c, Launches& list) {
  if (c.in[0].blocks.columns != 0) return select_quantized(c, list);
  const TensorView x = as_line(c.in[0]);
  const TensorView& index = c.in[1];
  const int axis = axis_of(*c.node, x.rank);
  Axes outer, inner;
  for (int i = 0; i < x.rank; ++i) {
    if (i != axis) (i < axis ? outer : inner).add(x.size(i), x.stride(i));
  }
  const DType t = carrier(x.dtype);
  Launch k("index_select");
  k.input("x", 0, t);
  k.input("index", 1, index.dtype);
  k.output("out", 0, t);
  k.may_fail();
  outer.declare(k.source, "outer");
  inner.declare(k.source, "inner");
  k.source.view("index", index);
  k.parameter("count", c.out[0].numel());
  k.parameter("inner", inner.count);
  k.parameter("entries", index.numel());
  k.parameter("size", x.size(axis));
  k.parameter("step", x.stride(axis));
  list.add(std::move(k), c.out[0].numel());
}

/// Declares the position operands from `first` on, and PLACE, which adds the offset of tuple `t` to `at`. PLACE writes
/// no memory: compilers may read all positions before using the first.
void declare_places(const KernelCall& c, Launch& k, std::size_t first, const TensorView& table) {
  std::string place;
  for (std::size_t n = first; n < c.in.size(); ++n) {
    const std::size_t axis = n - first;
    const std::string name = fmt::format("index{}", axis);
    k.input(name, n, c.in[n].dtype);
    k.source.view(name, c.in[n]);
    k.parameter(fmt::format("size{}", axis), table.sizes[axis]);
    k.parameter(fmt::format("step{}", axis), table.strides[axis]);
    place += fmt::format(
        "{{ tern_i64 v = (tern_i64)index{0}[at_index{0}(t, &p)]; v = v < 0 ? v + p.size{0} : v; "
        "inside &= v >= 0 && v < p.size{0}; at += v * p.step{0}; }} ",
        axis);
  }
  k.may_fail();
  k.source.define("PLACE", place);
}

void index(const KernelCall& c, Launches& list) {
  const TensorView& x = c.in[0];
  const auto indexed = static_cast<int>(c.in.size()) - 1;
  Axes row;
  for (int i = indexed; i < x.rank; ++i) row.add(x.size(i), x.stride(i));
  const DType t = carrier(x.dtype);
  Launch k("index");
  k.input("x", 0, t);
  k.output("out", 0, t);
  declare_places(c, k, 1, x);
  row.declare(k.source, "row");
  k.parameter("count", c.out[0].numel());
  k.parameter("inner", row.count);
  list.add(std::move(k), c.out[0].numel());
}

void index_put(const KernelCall& c, Launches& list) {
  const TensorView &values = c.in[1], &out = c.out[0];
  const int indexed = static_cast<int>(c.in.size()) - 2, lead = c.in[2].rank;
  // The destination has the indices' shape followed by the rest of x; values are broadcast.
  Axes rows, row;
  const int place = lead + out.rank - indexed, skip = place - values.rank;
  for (int i = 0; i < place; ++i) {
    const std::int64_t size = i < lead ? c.in[2].size(i) : out.size(i - lead + indexed);
    const bool repeats = i < skip || values.size(i - skip) == 1;
    (i < lead ? rows : row).add(size, repeats ? 0 : values.stride(i - skip));
  }
  add_start(c, list);
  const bool accumulate = c.node->integer(AttrKey::accumulate) != 0;
  const DType t = accumulate ? out.dtype : carrier(out.dtype);
  Launch k("index_put");
  // Each tuple waits for memory: positions, and then values. Processors hide the latency themselves, and have a single
  // text.
  constexpr std::int64_t kTogether = 8;
  const std::int64_t many =
      list.target().dialect == Dialect::cpp ? 1 : std::clamp<std::int64_t>(rows.count, 1, kTogether);
  k.source.define("TOGETHER", static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(many))));
  k.type("VALUE_T", t);
  k.source.define("ACCUMULATE", accumulate ? 1 : 0);
  k.input("values", 1, t);
  k.output("out", 0, t);
  if (accumulate) {
    const DType sum = number_type(t);
    k.source.arithmetic("SUM", sum);
    k.load("LOAD_OUT", t, sum);
    k.load("LOAD_VALUES", t, sum);
    k.store("STORE", sum, t);
  }
  declare_places(c, k, 2, out);
  rows.declare(k.source, "rows");
  row.declare(k.source, "row");
  k.parameter("row", row.count);
  k.parameter("tuples", rows.count);
  list.add(std::move(k), rows.count == 0 ? 0 : row.count);
}

std::string start_of(ScatterKind kind, DType t) {
  if (kind == ScatterKind::prod) return literal(t, std::int64_t{1});
  if (kind != ScatterKind::max && kind != ScatterKind::min) return literal(t, std::int64_t{0});
  return lowest_or_highest(t, kind == ScatterKind::max);
}

std::string join_of(ScatterKind kind, DType t) {
  switch (kind) {
    case ScatterKind::prod: return t == DType::i64 ? "(tern_i64)((tern_u64)(a) * (tern_u64)(v))" : "SUM_MUL(a, v)";
    case ScatterKind::max: return "((a) != (a) || (a) > (v) ? (a) : (v))";
    case ScatterKind::min: return "((a) != (a) || (a) < (v) ? (a) : (v))";
    default: return t == DType::i64 ? "(tern_i64)((tern_u64)(a) + (tern_u64)(v))" : "SUM_ADD(a, v)";
  }
}

/// Memory of another type as wide as `out`, in the scratch.
void convert_all(Launches& list, const KernelCall& c, std::uint64_t scratch, DType wide, bool to_wide) {
  const DType own = c.out[0].dtype;
  Launch k("convert_elements");
  if (to_wide) {
    k.output("from", 0, own);
    k.scratch("to", scratch, wide, true);
    k.store("STORE", own, wide);
  } else {
    k.scratch("from", scratch, wide, false);
    k.output("to", 0, own);
    k.store("STORE", wide, own);
  }
  k.parameter("count", c.out[0].numel());
  list.add(std::move(k), c.out[0].numel());
}

void scatter(const KernelCall& c, Launches& list) {
  const TensorView out = as_line(c.out[0]), positions = as_line(c.in[1]);
  TensorView src = c.in[2];
  if (src.rank == 0) {  // represents a single element of the index's shape
    src = positions;
    src.strides = {};
  }
  const auto kind = static_cast<ScatterKind>(c.node->integer(AttrKey::kind));
  const int axis = axis_of(*c.node, out.rank);
  Axes to, from, line;
  for (int i = 0; i < out.rank; ++i) {
    if (i == axis) continue;
    to.add(positions.size(i), out.stride(i));
    from.add(positions.size(i), src.stride(i));
    line.add(positions.size(i), positions.stride(i));
  }
  add_start(c, list);
  if (positions.numel() == 0) return;
  const bool joins = kind != ScatterKind::set;
  const DType element = joins ? out.dtype : carrier(out.dtype), sum = joins ? number_type(element) : element;
  const bool widened = sum != element;
  const auto count = static_cast<std::uint64_t>(out.numel());
  const std::uint64_t sums = widened ? list.scratch(count * static_cast<std::uint64_t>(element_size(sum))) : 0;
  if (widened) convert_all(list, c, sums, sum, true);
  Launch k("scatter");
  k.source.define("KIND", static_cast<std::int64_t>(kind));
  k.source.define("INCLUDE", c.node->integer(AttrKey::include_self) != 0 ? 1 : 0);
  k.input("index", 1, positions.dtype);
  k.input("src", 2, element);
  if (widened) {
    k.scratch("sums", sums, sum, true);
  } else {
    k.output("sums", 0, sum);
  }
  if (joins) {
    k.source.arithmetic("SUM", sum);
    k.source.define("START", start_of(kind, sum));
    k.source.define("JOIN(a, v)", join_of(kind, sum));
    k.load("LOAD_SRC", element, sum);
  }
  if (kind == ScatterKind::mean) {
    k.scratch("counts", list.scratch(count * sizeof(std::int64_t)), DType::i64, true);
    k.source.define("DIVIDED(s, n)", is_floating(sum)    ? "((s) / (SUM_T)(n))"
                                     : sum == DType::i64 ? "((s) % (n) != 0 && (s) < 0 ? (s) / (n) - 1 : (s) / (n))"
                                                         : "((s) / (SUM_T)(n))");
  }
  k.may_fail();
  to.declare(k.source, "to");
  from.declare(k.source, "from");
  line.declare(k.source, "line");
  k.parameter("lines", to.count);
  k.parameter("entries", positions.size(axis));
  k.parameter("size", out.size(axis));
  k.parameter("to_step", out.stride(axis));
  k.parameter("from_step", src.stride(axis));
  k.parameter("index_step", positions.stride(axis));
  list.add(std::move(k), to.count);
  if (widened) convert_all(list, c, sums, sum, false);
}

}  // namespace

void define_indexing(Definitions& d) {
  d.set(Op::gather, kernel<gather>());
  d.set(Op::index_select, kernel<index_select>());
  d.set(Op::index, kernel<index>());
  Kernel over = kernel<index_put>();
  over.run = run_over_input;
  over.in_place = 0;
  d.set(Op::index_put, over);
  over = kernel<scatter>();
  over.run = run_over_input;
  over.in_place = 0;
  d.set(Op::scatter, over);
}

}  // namespace tern::portable
