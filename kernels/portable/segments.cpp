// segment_reduce and embedding_bag: runs of elements or rows joined to a single element or row.
#include <limits>

#include "kernels/portable/axes.h"
#include "kernels/portable/definitions.h"
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
  double start = kind == ScatterKind::prod ? 1 : 0;
  if (kind == ScatterKind::max) start = -std::numeric_limits<double>::infinity();
  if (kind == ScatterKind::min) start = std::numeric_limits<double>::infinity();
  std::string join = "((a) + (b))";
  if (kind == ScatterKind::prod) join = "((a) * (b))";
  if (kind == ScatterKind::max) join = "((a) != (a) || (a) > (b) ? (a) : (b))";
  if (kind == ScatterKind::min) join = "((a) != (a) || (a) < (b) ? (a) : (b))";
  Launch k("segment_reduce");
  k.type("SUM_T", sum);
  k.source.define("JOIN(a, b)", join);
  k.source.choice("MEAN", kind == ScatterKind::mean ? 1 : 0);
  k.source.choice("STARTED", value.empty() ? 0 : 1);
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
  k.source.parameter("start", sum, value.empty() ? start : value[0]);
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
  k.parameter("padding", c.node->integer(AttrKey::padding_index));
}

void embedding_bag(const KernelCall& c, Launches& list) {
  const TensorView& x = c.in[0];
  const auto kind = static_cast<BagKind>(c.node->integer(AttrKey::kind));
  const std::int64_t entries = c.in[2].numel();
  const Bags bags{c.node->integer(AttrKey::full) != 0 ? entries - 1 : entries, entries};
  Launch sizes("embedding_bags");
  declare_bags(sizes, c, bags);
  sizes.optional_output("BAG_OF", "bag_of", 1, DType::i64, c.wants_output(1));
  sizes.optional_output("SIZES", "sizes", 2, DType::i64, c.wants_output(2));
  list.add(std::move(sizes), bags.count + 1);

  const DType sum = list.target().has_double ? DType::f64 : DType::f32;
  const bool weighted = c.has_input(3), places = kind == BagKind::max && c.wants_output(3);
  Launch k("embedding_bag");
  k.type("SUM_T", sum);
  k.source.define("KIND", static_cast<std::int64_t>(kind));
  k.input("x", 0, x.dtype);
  k.load("LOAD_X", x.dtype, sum);
  declare_bags(k, c, bags);
  const DType weight = weighted ? c.in[3].dtype : sum;
  k.optional_input("WEIGHTED", "weights", 3, weight, weighted);
  k.load("LOAD_WEIGHT", weight, sum);
  k.parameter("weight_step", weighted ? c.in[3].stride(0) : 0);
  k.optional_output("VALUES", "out", 0, x.dtype, c.wants_output(0));
  k.store("STORE", sum, x.dtype);
  k.optional_output("PLACES", "places", 3, DType::i64, places);
  k.parameter("rows", x.size(0));
  k.parameter("width", x.size(1));
  k.parameter("x_row", x.stride(0));
  k.parameter("x_column", x.stride(1));
  list.add(std::move(k), bags.count * x.size(1));
}

bool is_number(DType t) {
  return is_floating(t) || is_complex(t);
}

DType input_of_segments(const KernelCall& c, std::size_t k) {
  const DType t = c.in[k].dtype;
  return is_number(t) ? text_type(t, Sight::computed) : DType::i64;
}

/// The weight keeps its own type: it is large, and few rows are read.
DType input_of_bags(const KernelCall& c, std::size_t k) {
  const DType t = c.in[k].dtype;
  if (!is_number(t)) return DType::i64;
  return text_type(t, k == 0 ? Sight::narrow : Sight::wide);
}

constexpr std::string_view kSegmentReduceSamples[] = {
    "T=f32|f64: T[4], i64[2]; axis=0, kind=sum|prod|max|min",
};
constexpr std::string_view kEmbeddingBagSamples[] = {
    "T=f32|f64|f16|bf16: T[4,4], i64[4], i64[2], -; kind=sum|mean|max, padding_index=-1",
};

}  // namespace

void define_segments(Definitions& d) {
  d.set(Op::segment_reduce, kernel<segment_reduce>(), {.samples = kSegmentReduceSamples, .input = input_of_segments});
  d.set(Op::embedding_bag, kernel<embedding_bag>(),
        {.samples = kEmbeddingBagSamples, .sight = Sight::narrow, .input = input_of_bags});
}

}  // namespace tern::portable
