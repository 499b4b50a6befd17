// segment_reduce and embedding_bag: runs of elements or rows joined into one.
#include "kernels/portable/axes.h"
#include "kernels/portable/launches.h"
#include "schema/kinds.h"

namespace tern::portable {
namespace {

void segment_reduce(const KernelCall& c, Launches& list) {
  const TensorView &x = c.in[0], &offsets = c.in[1], &out = c.out[0];
  const auto kind = static_cast<ScatterKind>(c.node->integer(AttrKey::kind));
  const int axis = axis_of(*c.node, x.rank);
  const DType sum = list.target().has_double ? DType::f64 : DType::f32;
  const std::vector<double>& value = c.node->numbers(AttrKey::value);
  std::string start = literal(sum, std::int64_t{kind == ScatterKind::prod ? 1 : 0});
  if (kind == ScatterKind::max || kind == ScatterKind::min) start = lowest_or_highest(sum, kind == ScatterKind::max);
  std::string join = "((a) + (b))";
  if (kind == ScatterKind::prod) join = "((a) * (b))";
  if (kind == ScatterKind::max) join = "((a) != (a) || (a) > (b) ? (a) : (b))";
  if (kind == ScatterKind::min) join = "((a) != (a) || (a) < (b) ? (a) : (b))";
  Launch k("segment_reduce");
  k.type("SUM_T", sum);
  k.source.define("START", value.empty() ? start : "p.start");
  k.source.define("JOIN(a, b)", join);
  k.source.define("MEAN", kind == ScatterKind::mean ? 1 : 0);
  k.source.define("OF_NONE", value.empty() ? "(SUM_T)TERN_NAN" : "a");
  k.input("x", 0, x.dtype);
  k.load("LOAD_X", x.dtype, sum);
  k.input("offsets", 1, offsets.dtype);
  k.load("LOAD_OFFSET", offsets.dtype, DType::i64);
  k.source.view("offsets", offsets);
  k.output("out", 0, out.dtype);
  k.store("STORE", sum, out.dtype);
  k.may_fail();
  Axes outer, inner;
  for (int i = 0; i < x.rank; ++i) {
    if (i != axis) (i < axis ? outer : inner).add(x.size(i), x.stride(i));
  }
  outer.declare(k.source, "outer");
  inner.declare(k.source, "inner");
  k.parameter("count", out.numel());
  k.parameter("inner", inner.count);
  k.parameter("segments", out.size(axis));
  k.parameter("length", x.size(axis));
  k.parameter("x_step", x.stride(axis));
  k.source.parameter("start", sum, value.empty() ? 0.0 : value[0]);
  list.add(std::move(k), out.numel());
}

struct Bags {
  std::int64_t count, entries;
};

void declare_bags(Launch& k, const KernelCall& c, const Bags& bags) {
  k.input("indices", 1, c.in[1].dtype);
  k.input("offsets", 2, c.in[2].dtype);
  k.may_fail();
  k.parameter("bags", bags.count);
  k.parameter("entries", bags.entries);
  k.parameter("indices", c.in[1].numel());
  k.parameter("index_step", c.in[1].stride(0));
  k.parameter("offset_step", c.in[2].stride(0));
  k.parameter("padding", c.node->integer(AttrKey::padding_index, -1));
}

void embedding_bag(const KernelCall& c, Launches& list) {
  const TensorView& x = c.in[0];
  const auto kind = static_cast<BagKind>(c.node->integer(AttrKey::kind));
  const std::int64_t entries = c.in[2].numel();
  const Bags bags{c.node->integer(AttrKey::full) != 0 ? entries - 1 : entries, entries};
  Launch sizes("embedding_bags");
  declare_bags(sizes, c, bags);
  sizes.source.define("BAG_OF", c.wants(1) ? 1 : 0);
  sizes.source.define("SIZES", c.wants(2) ? 1 : 0);
  if (c.wants(1)) sizes.output("bag_of", 1, DType::i64);
  if (c.wants(2)) sizes.output("sizes", 2, DType::i64);
  list.add(std::move(sizes), bags.count);

  const DType sum = list.target().has_double ? DType::f64 : DType::f32;
  const bool weighted = c.has(3), places = kind == BagKind::max && c.wants(3);
  Launch k("embedding_bag");
  k.type("SUM_T", sum);
  k.source.define("KIND", static_cast<std::int64_t>(kind));
  k.source.define("WEIGHTED", weighted ? 1 : 0);
  k.source.define("VALUES", c.wants(0) ? 1 : 0);
  k.source.define("PLACES", places ? 1 : 0);
  k.input("x", 0, x.dtype);
  k.load("LOAD_X", x.dtype, sum);
  declare_bags(k, c, bags);
  if (weighted) {
    k.input("weights", 3, c.in[3].dtype);
    k.load("LOAD_WEIGHT", c.in[3].dtype, sum);
    k.parameter("weight_step", c.in[3].stride(0));
  }
  if (c.wants(0)) {
    k.output("out", 0, c.out[0].dtype);
    k.store("STORE", sum, c.out[0].dtype);
  }
  if (places) k.output("places", 3, DType::i64);
  k.parameter("rows", x.size(0));
  k.parameter("width", x.size(1));
  k.parameter("x_row", x.stride(0));
  k.parameter("x_column", x.stride(1));
  list.add(std::move(k), bags.count * x.size(1));
}

}  // namespace

void register_segments(KernelTable& t) {
  t.set(Op::segment_reduce, kernel<segment_reduce>());
  t.set(Op::embedding_bag, kernel<embedding_bag>());
}

}  // namespace tern::portable
