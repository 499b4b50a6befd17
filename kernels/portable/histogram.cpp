// histogram and bincount: the bin of every element, then the sums of the bins.
#include <algorithm>

#include "kernels/portable/axes.h"
#include "kernels/portable/counting.h"
#include "kernels/portable/definitions.h"

namespace tern::portable {
namespace {

/// Items sharing the bins: each reads all elements.
constexpr std::int64_t kWorkers = 64;

struct HistogramBlocks {
  std::int64_t size, count;
};
HistogramBlocks blocks_of(std::int64_t n) {
  const std::int64_t size = std::max<std::int64_t>(256, (n + 1023) / 1024);
  return {size, (n + size - 1) / size};
}

void bincount(const KernelCall& c, Launches& list) {
  const TensorView& x = c.in[0];
  const HistogramBlocks blocks = blocks_of(x.numel());
  const std::uint64_t total = list.scratch(sizeof(std::int64_t));
  const std::uint64_t sizes = list.scratch(static_cast<std::uint64_t>(blocks.count) * sizeof(std::int64_t));
  Launch part("bincount_size");
  part.input("x", 0, x.dtype);
  part.load("LOAD_X", x.dtype, DType::i64);
  part.source.view("x", x);
  part.source.define("VALUE(i)", "LOAD_X(x, at_x(i, &p))");
  part.scratch("sizes", sizes, DType::i64, true);
  part.may_fail();
  part.parameter("count", x.numel());
  part.parameter("block", blocks.size);
  part.parameter("blocks", blocks.count);
  part.parameter("least", std::int64_t{0});
  list.add(std::move(part), blocks.count);
  Launch whole("bincount_size");
  whole.source.define("VALUE(i)", "parts[i] - 1 < 0 ? 0 : parts[i] - 1");
  whole.scratch("parts", sizes, DType::i64, false);
  whole.scratch("sizes", total, DType::i64, true);
  whole.may_fail();
  whole.parameter("count", blocks.count);
  whole.parameter("block", blocks.count);
  whole.parameter("blocks", std::int64_t{1});
  whole.parameter("least", c.node->integer(AttrKey::length));
  list.add(std::move(whole), 1);
  const bool weighted = c.has_input(1);
  Launch k("bin_sums");
  k.input("x", 0, x.dtype);
  k.load("LOAD_X", x.dtype, DType::i64);
  k.source.view("x", x);
  k.source.define("BIN(i)", "LOAD_X(x, at_x(i, &p))");
  k.source.define("SUM_OF(sum, i)", weighted ? "(sum) + weights[at_weights(i, &p)]" : "(sum) + 1");
  k.source.define("BINS", "total[0]");
  if (weighted) {
    k.input("weights", 1, c.in[1].dtype);
    k.source.view("weights", c.in[1]);
  }
  k.scratch("total", total, DType::i64, false);
  k.output("out", 0, weighted ? c.in[1].dtype : DType::i64);
  k.parameter("count", x.numel());
  k.parameter("workers", kWorkers);
  list.add(std::move(k), kWorkers);
}

void run_bincount(KernelCall& call) {
  const auto* list = static_cast<const Launches*>(call.state);
  list->run(call, 0, list->size() - 1);
  const std::int64_t bins = read_total(call);
  allocate_result(call, bins, {&bins, 1});
  if (bins > 0) list->run(call, list->size() - 1, list->size());
}

struct RangeBuffers {
  std::uint64_t lows, highs;
};

/// The ends of the bins, in memory of type `t`.
RangeBuffers choose_ends(const KernelCall& c, Launches& list, DType t) {
  const TensorView& x = c.in[0];
  const double low = c.node->number_at(AttrKey::range, 0), high = c.node->number_at(AttrKey::range, 1);
  const bool same = t == DType::f64 ? low == high : static_cast<float>(low) == static_cast<float>(high);
  const HistogramBlocks blocks = same ? blocks_of(x.numel()) : HistogramBlocks{1, 0};
  const auto bytes = [&](std::int64_t n) { return static_cast<std::uint64_t>(n * element_size(t)); };
  const auto ends_launch = [&](bool last, const RangeBuffers& to, std::int64_t count, HistogramBlocks b) {
    Launch k("histogram_ends");
    k.type("T", t);
    k.source.define("LAST", last ? 1 : 0);
    k.scratch("lows", to.lows, t, true);
    k.scratch("highs", to.highs, t, true);
    k.may_fail();
    k.parameter("count", count);
    k.parameter("block", b.size);
    k.parameter("blocks", b.count);
    k.source.parameter("low", t, low);
    k.source.parameter("high", t, high);
    k.source.parameter("more", t, c.node->integer(AttrKey::full) != 0 ? 0.5 : 1.0);
    return k;
  };
  const RangeBuffers parts{list.scratch(bytes(blocks.count)), list.scratch(bytes(blocks.count))};
  const RangeBuffers ends{list.scratch(bytes(1)), list.scratch(bytes(1))};
  Launch part = ends_launch(false, parts, x.numel(), blocks);
  part.input("x", 0, x.dtype);
  part.load("LOAD_X", x.dtype, t);
  part.source.view("x", x);
  part.source.define("SMALLEST(i)", "LOAD_X(x, at_x(i, &p))");
  part.source.define("LARGEST(i)", "LOAD_X(x, at_x(i, &p))");
  list.add(std::move(part), blocks.count);
  Launch whole = ends_launch(true, ends, blocks.count, {std::max<std::int64_t>(blocks.count, 1), 1});
  whole.scratch("low_parts", parts.lows, t, false);
  whole.scratch("high_parts", parts.highs, t, false);
  whole.source.define("SMALLEST(i)", "low_parts[i]");
  whole.source.define("LARGEST(i)", "high_parts[i]");
  list.add(std::move(whole), 1);
  return ends;
}

void histogram(const KernelCall& c, Launches& list) {
  const TensorView& x = c.in[0];
  const bool given = c.has_input(1), weighted = c.has_input(2), has_double = list.target().has_double;
  const DType t = has_double && (x.dtype == DType::f64 || !is_floating(x.dtype)) ? DType::f64 : DType::f32;
  const DType sum = has_double ? DType::f64 : DType::f32;
  const std::int64_t bins = given ? c.in[1].numel() - 1 : c.node->integer(AttrKey::bins);
  const auto scratch = [&](std::int64_t n, DType of) {
    return list.scratch(static_cast<std::uint64_t>(n * element_size(of)));
  };
  const RangeBuffers ends = given ? RangeBuffers{} : choose_ends(c, list, t);
  const std::uint64_t edges = scratch(bins + 1, t), places = scratch(x.numel(), DType::i64),
                      counts = scratch(bins, sum);

  Launch e("histogram_edges");
  e.type("T", t);
  e.source.define("GIVEN", given ? 1 : 0);
  if (given) {
    e.input("given", 1, c.in[1].dtype);
    e.load("LOAD_EDGE", c.in[1].dtype, t);
    e.source.view("given", c.in[1]);
  } else {
    e.scratch("lows", ends.lows, t, false);
    e.scratch("highs", ends.highs, t, false);
  }
  e.scratch("edges", edges, t, true);
  const DType edge = c.wants_output(1) ? c.out[1].dtype : t;
  e.optional_output("WANTED", "out", 1, edge, c.wants_output(1));
  e.store("STORE", t, edge);
  e.parameter("bins", bins);
  list.add(std::move(e), bins + 1);
  if (bins <= 0 || !c.wants_output(0)) return;

  Launch at("histogram_places");
  at.type("T", t);
  at.source.define("SEARCH", given ? 2 : c.node->integer(AttrKey::full) != 0 ? 1 : 0);
  at.source.define("TO_INTEGER(v)", "(tern_i64)(v)");
  at.input("x", 0, x.dtype);
  at.load("LOAD_X", x.dtype, t);
  at.source.view("x", x);
  if (!given) {
    at.scratch("lows", ends.lows, t, false);
    at.scratch("highs", ends.highs, t, false);
  }
  at.scratch("edges", edges, t, false);
  at.scratch("places", places, DType::i64, true);
  at.parameter("count", x.numel());
  at.parameter("bins", bins);
  list.add(std::move(at), x.numel());

  const std::int64_t workers = std::min(bins, kWorkers);
  Launch sums("bin_sums");
  sums.source.define("BIN(i)", "places[i]");
  sums.source.define("SUM_OF(sum, i)", weighted ? "(sum) + LOAD_WEIGHT(weights, at_weights(i, &p))" : "(sum) + 1");
  sums.source.define("BINS", "p.bins");
  sums.scratch("places", places, DType::i64, false);
  if (weighted) {
    sums.input("weights", 2, c.in[2].dtype);
    sums.source.load("LOAD_WEIGHT", c.in[2].dtype, t, sum);
    sums.source.view("weights", c.in[2]);
  }
  sums.scratch("out", counts, sum, true);
  sums.parameter("count", x.numel());
  sums.parameter("bins", bins);
  sums.parameter("workers", workers);
  list.add(std::move(sums), workers);

  const std::uint64_t total = scratch(1, sum);
  Launch all("histogram_total");
  all.type("SUM_T", sum);
  all.scratch("counts", counts, sum, false);
  all.scratch("total", total, sum, true);
  all.parameter("bins", bins);
  list.add(std::move(all), 1);

  Launch out("histogram_store");
  out.type("T", t);
  out.type("SUM_T", sum);
  out.source.choice("DENSITY", c.node->integer(AttrKey::density) != 0 ? 1 : 0);
  out.scratch("counts", counts, sum, false);
  out.scratch("total", total, sum, false);
  out.scratch("edges", edges, t, false);
  out.output("out", 0, c.out[0].dtype);
  out.store("STORE", sum, c.out[0].dtype);
  out.parameter("bins", bins);
  list.add(std::move(out), bins);
}

DType type_of_bins(const KernelCall& c, std::size_t) {
  const DType x = c.in[0].dtype;
  return x == DType::f64 || !is_floating(x) ? DType::f64 : DType::f32;
}

constexpr std::string_view kHistogramSamples[] = {
    "T=f32|f64: T[4], -, -|T[4]; full=0|1, bins=3, range=[0,0]",
    "T=f32|f64: T[4], T[4], -|T[4]; full=0|1",
};

}  // namespace

void define_histograms(Definitions& d) {
  d.set(Op::histogram, kernel<histogram>(),
        {.samples = kHistogramSamples, .input = type_of_bins, .output = type_of_bins});
  Kernel k = kernel<bincount>();
  k.run = run_bincount;
  d.set(Op::bincount, k);
}

}  // namespace tern::portable
