// sort and topk: by groups; else a merge sort of all lines at once, a launch for each doubling.
#include "kernels/portable/axes.h"
#include "kernels/portable/definitions.h"
#include "kernels/portable/launches.h"
#include "kernels/portable/sort_groups.h"

namespace tern::portable {
namespace {

void arrange(const KernelCall& c, Launches& list, bool descending, std::int64_t kept) {
  const TensorView x = as_line(c.in[0]), shape = as_line(c.wants_output(0) ? c.out[0] : c.out[1]);
  const int axis = axis_of(*c.node, x.rank);
  const Axes lines = axes_without(x, axis), to = axes_without(shape, axis);
  const std::int64_t length = x.size(axis), count = lines.count * length;
  const DType t = number_type(x.dtype);
  if (count == 0 || shape.numel() == 0) return;
  Axes along;
  along.add(length, x.stride(axis));
  const SortedLines sorted{0, x.dtype, lines, along, descending, kept};
  const auto results = [&](Launch& k) {
    std::string found = "const tern_i64 to_ = at_to(line, &p) + (k) * p.to_step;";
    if (c.wants_output(0)) {
      k.output("out", 0, x.dtype);
      k.store("STORE", t, x.dtype);
      found += " STORE(out, to_, v);";
    }
    if (c.wants_output(1)) {
      k.output("indices", 1, DType::i64);
      found += " indices[to_] = place;";
    }
    k.source.define("FOUND(line, k, v, place)", found);
    to.declare(k.source, "to");
    k.parameter("to_step", shape.stride(axis));
  };
  if (sort_by_groups(list, sorted, results)) return;
  std::uint64_t values[2], places[2];
  for (int b = 0; b < 2; ++b) {
    values[b] = list.scratch(static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(element_size(t)));
    places[b] = list.scratch(static_cast<std::uint64_t>(count) * sizeof(std::int64_t));
  }
  Launch start("sort_start");
  start.input("x", 0, x.dtype);
  start.load("LOAD_X", x.dtype, t);
  start.scratch("values", values[0], t, true);
  start.scratch("places", places[0], DType::i64, true);
  lines.declare(start.source, "lines");
  start.parameter("count", count);
  start.parameter("length", length);
  start.parameter("x_step", x.stride(axis));
  list.add(std::move(start), count);
  int from = 0;
  for (std::int64_t run = 1; run < length; run *= 2) {
    Launch merge("sort_merge");
    declare_order(merge.source, t, descending);
    merge.scratch("values", values[from], t, false);
    merge.scratch("places", places[from], DType::i64, false);
    merge.scratch("to_values", values[1 - from], t, true);
    merge.scratch("to_places", places[1 - from], DType::i64, true);
    merge.parameter("count", count);
    merge.parameter("length", length);
    merge.parameter("run", run);
    list.add(std::move(merge), count);
    from = 1 - from;
  }
  Launch end("sort_end");
  end.input("x", 0, x.dtype);
  end.scratch("places", places[from], DType::i64, false);
  end.source.define("VALUES", c.wants_output(0) ? 1 : 0);
  end.source.define("INDICES", c.wants_output(1) ? 1 : 0);
  if (c.wants_output(0)) end.output("out", 0, x.dtype);
  if (c.wants_output(1)) end.output("indices", 1, DType::i64);
  lines.declare(end.source, "lines");
  to.declare(end.source, "to");
  end.parameter("lines", lines.count);
  end.parameter("length", length);
  end.parameter("kept", kept);
  end.parameter("x_step", x.stride(axis));
  end.parameter("to_step", shape.stride(axis));
  list.add(std::move(end), lines.count * kept);
}

void sort(const KernelCall& c, Launches& list) {
  const TensorView x = as_line(c.in[0]);
  arrange(c, list, c.node->integer(AttrKey::descending) != 0, x.size(axis_of(*c.node, x.rank)));
}

void topk(const KernelCall& c, Launches& list) {
  arrange(c, list, c.node->integer(AttrKey::largest) != 0, c.node->integer(AttrKey::k));
}

}  // namespace

void define_order(Definitions& d) {
  d.set(Op::sort, kernel<sort>());
  d.set(Op::topk, kernel<topk>());
}

}  // namespace tern::portable
