// layer_norm, rms_norm, group_norm and batch_norm: first the moments of rows, then every element.
#include <algorithm>
#include <optional>

#include "kernels/portable/axes.h"
#include "kernels/portable/definitions.h"
#include "kernels/portable/launches.h"
#include "kernels/portable/rows.h"
#include "schema/pointwise.h"

namespace tern::portable {
namespace {

/// Positions of statistics and parameters relative to the elements of x in row-major order.
struct NormalizationLayout {
  std::int64_t run = 1, statistics = 1;            ///< elements of a row; rows
  std::int64_t parameter_run = 1, parameters = 1;  ///< elements of an entry; entries
};

DType sum_type(const KernelCall& c, const Launches& list) {
  return wide_type(compute_type(c.in[0].dtype) == DType::f64 ? DType::f64 : DType::f32, list.target().has_double);
}

/// Scratch offsets of mean and rstd, written by moments().
struct Moments {
  std::uint64_t mean, rstd;
};

void declare_statistics(const KernelCall& c, Launch& k, DType sum) {
  k.source.define("MEAN", c.wants_output(1) ? 1 : 0);
  k.source.define("RSTD", c.wants_output(2) ? 1 : 0);
  if (c.wants_output(1)) {
    k.output("mean_out", 1, c.out[1].dtype);
    k.store("STORE_MEAN", sum, c.out[1].dtype);
  }
  if (c.wants_output(2)) {
    k.output("rstd_out", 2, c.out[2].dtype);
    k.store("STORE_RSTD", sum, c.out[2].dtype);
  }
}

/// The text norm_rows without its result.
Launch norm_rows(const KernelCall& c, Launches& list, const RowItems& how, const Axes& rows, const Axes& columns,
                 bool root_mean_square) {
  const DType t = compute_type(c.in[0].dtype), sum = sum_type(c, list);
  Launch k("norm_rows");
  how.declare(k.source);
  how.type(k.source, "T", t);
  how.type(k.source, "SUM_T", sum);
  k.source.define("ROOT_MEAN_SQUARE", root_mean_square ? 1 : 0);
  k.input("x", 0, c.in[0].dtype);
  how.load(k.source, "LOAD_X", c.in[0].dtype, c.in[0].dtype, t);
  rows.declare(k.source, "rows");
  columns.declare(k.source, "columns");
  k.parameter("rows", rows.count);
  k.parameter("length", columns.count);
  k.source.parameter("epsilon", sum, c.node->number(AttrKey::epsilon));
  declare_statistics(c, k, sum);
  return k;
}

/// Rows are the first axes of x, columns the other axes.
Moments moments(const KernelCall& c, Launches& list, const Axes& rows, const Axes& columns, bool root_mean_square) {
  const DType sum = sum_type(c, list);
  const auto bytes = static_cast<std::uint64_t>(rows.count) * static_cast<std::uint64_t>(element_size(sum));
  const Moments m{list.scratch(bytes), list.scratch(bytes)};
  const auto how = RowItems::choose(list.target(), RowGeometry(rows, columns), compute_type(c.in[0].dtype), true);
  if (how) {
    Launch k = norm_rows(c, list, *how, rows, columns, root_mean_square);
    k.source.define("STATISTICS", 1);
    k.source.define("RESULT", std::int64_t{0});
    k.scratch("means", m.mean, sum, true);
    k.scratch("rstds", m.rstd, sum, true);
    how->add(list, std::move(k), rows.count);
    return m;
  }
  Launch k("moments");
  k.type("SUM_T", sum);
  k.source.add_library("parts");
  k.source.add("TERN_FN SUM_T squared(SUM_T a) { return a * a; }\n");
  k.source.define("ROOT_MEAN_SQUARE", root_mean_square ? 1 : 0);
  k.input("x", 0, c.in[0].dtype);
  k.load("LOAD_X", c.in[0].dtype, sum);
  rows.declare(k.source, "rows");
  columns.declare(k.source, "columns");
  k.parameter("rows", rows.count);
  k.parameter("length", columns.count);
  k.source.parameter("epsilon", sum, c.node->number(AttrKey::epsilon));
  k.scratch("means", m.mean, sum, true);
  k.scratch("rstds", m.rstd, sum, true);
  declare_statistics(c, k, sum);
  list.add(std::move(k), rows.count);
  return m;
}

/// The last launch, without the source of the statistics. `weight` and `bias`: numbers of operands.
Launch normalize(const KernelCall& c, Launches& list, const NormalizationLayout& layout, std::size_t weight,
                 std::size_t bias) {
  const TensorView &x = c.in[0], &y = c.out[0];
  const DType sum = sum_type(c, list);
  Launch k("normalize");
  k.type("SUM_T", sum);
  const DType t = compute_type(x.dtype);
  k.type("T", t);
  k.input("x", 0, x.dtype);
  k.load("LOAD_X", x.dtype, t);
  k.source.view("x", x);
  k.output("y", 0, y.dtype);
  k.store("STORE", t, y.dtype);
  k.parameter("count", y.numel());
  k.parameter("run", std::max<std::int64_t>(layout.run, 1));
  k.parameter("statistics", std::max<std::int64_t>(layout.statistics, 1));
  k.parameter("parameter_run", std::max<std::int64_t>(layout.parameter_run, 1));
  k.parameter("parameters", std::max<std::int64_t>(layout.parameters, 1));
  k.source.define("WEIGHT", c.has_input(weight) ? 1 : 0);
  k.source.define("BIAS", c.has_input(bias) ? 1 : 0);
  if (c.has_input(weight)) {
    k.input("weight", weight, c.in[weight].dtype);
    k.load("LOAD_WEIGHT", c.in[weight].dtype, t);
    k.source.view("weight", c.in[weight]);
  }
  if (c.has_input(bias)) {
    k.input("bias", bias, c.in[bias].dtype);
    k.load("LOAD_BIAS", c.in[bias].dtype, t);
    k.source.view("bias", c.in[bias]);
  }
  return k;
}

void apply(const KernelCall& c, Launches& list, const Moments& m, Launch k) {
  const DType sum = sum_type(c, list);
  k.source.define("VARIANCE", std::int64_t{0});
  k.scratch("means", m.mean, sum, false);
  k.scratch("rstds", m.rstd, sum, false);
  k.load("LOAD_MEAN", sum, sum);
  k.load("LOAD_RSTD", sum, sum);
  list.add(std::move(k), c.out[0].numel());
}

constexpr std::size_t kAbsent = ~std::size_t{0};

bool is_contiguous(const KernelCall& c, std::size_t operand) {
  return !c.has_input(operand) || c.in[operand].contiguous();
}

/// The parameters of group_norm: numbers of groups and of channels per group, with `inner` elements per channel.
struct Channels {
  std::int64_t groups, channels, inner;
};

/// Statistics and results of a row in a single launch.
void run_single_launch(const KernelCall& c, Launches& list, const RowItems& how, const Axes& rows, const Axes& columns,
                       bool root_mean_square, const std::optional<Channels>& channels) {
  const DType t = compute_type(c.in[0].dtype);
  Launch k = norm_rows(c, list, how, rows, columns, root_mean_square);
  k.source.define("STATISTICS", std::int64_t{0});
  k.source.define("RESULT", 1);
  k.source.define("CHANNELS", channels ? 1 : 0);
  if (channels) {
    k.parameter("groups", channels->groups);
    k.parameter("channels", channels->channels);
    k.parameter("inner", channels->inner);
  }
  k.output("y", 0, c.out[0].dtype);
  how.store(k.source, "STORE", t, c.out[0].dtype);
  const auto parameter = [&](std::size_t operand, const char* has, const std::string& name, const std::string& load) {
    const bool there = operand != kAbsent && c.has_input(operand);
    k.source.define(has, there ? 1 : 0);
    if (!there) return;
    k.input(name, operand, c.in[operand].dtype);
    how.load(k.source, load, c.in[operand].dtype, c.in[operand].dtype, t);
    k.source.view(name, c.in[operand]);
  };
  parameter(1, "WEIGHT", "weight", "LOAD_WEIGHT");
  parameter(root_mean_square ? kAbsent : 2, "BIAS", "bias", "LOAD_BIAS");
  how.add(list, std::move(k), rows.count);
}

void normalize_last_axes(const KernelCall& c, Launches& list, bool root_mean_square) {
  const TensorView& x = c.in[0];
  const auto last = static_cast<int>(c.node->integer(AttrKey::k));
  Axes rows, columns;
  for (int i = 0; i < x.rank; ++i) (i < x.rank - last ? rows : columns).add(x.size(i), x.stride(i));
  const std::size_t bias = root_mean_square ? kAbsent : 2;
  RowGeometry layout(rows, columns);
  layout.dense = layout.dense && is_contiguous(c, 1) && is_contiguous(c, bias);
  const auto how = RowItems::choose(list.target(), layout, compute_type(x.dtype), true);
  if (how && c.wants_output(0)) return run_single_launch(c, list, *how, rows, columns, root_mean_square, std::nullopt);
  const Moments m = moments(c, list, rows, columns, root_mean_square);
  if (!c.wants_output(0)) return;
  apply(c, list, m, normalize(c, list, {columns.count, rows.count, 1, columns.count}, 1, bias));
}

void layer_norm(const KernelCall& c, Launches& list) {
  normalize_last_axes(c, list, false);
}
void rms_norm(const KernelCall& c, Launches& list) {
  normalize_last_axes(c, list, true);
}

// Separate launches for statistics and result fill a device even with few rows: better for long rows. The text divides
// with 32 bits.
constexpr std::int64_t kFewRows = 66, kLongRow = 32768, kMostOfRow = std::int64_t{1} << 31;

bool fits_single_launch(const Target& target, const RowGeometry& layout) {
  return target.groups && layout.length < (layout.count < kFewRows ? kLongRow : kMostOfRow);
}

void group_norm(const KernelCall& c, Launches& list) {
  const TensorView& x = c.in[0];
  const std::int64_t groups = c.node->integer(AttrKey::groups), channels = x.size(1);
  Axes rows, columns;
  rows.add(x.size(0), x.stride(0));
  rows.add(groups, x.stride(1) * (channels / groups));
  columns.add(channels / groups, x.stride(1));
  std::int64_t inner = 1;
  for (int i = 2; i < x.rank; ++i) {
    columns.add(x.size(i), x.stride(i));
    inner *= x.size(i);
  }
  const RowGeometry layout(rows, columns);
  if (c.wants_output(0) && fits_single_launch(list.target(), layout)) {
    if (const auto how = RowItems::choose(list.target(), layout, compute_type(x.dtype), true))
      return run_single_launch(c, list, *how, rows, columns, false, Channels{groups, channels / groups, inner});
  }
  const Moments m = moments(c, list, rows, columns, false);
  if (!c.wants_output(0)) return;
  apply(c, list, m, normalize(c, list, {columns.count, rows.count, inner, channels}, 1, 2));
}

void batch_norm(const KernelCall& c, Launches& list) {
  const TensorView& x = c.in[0];
  std::int64_t inner = 1;
  for (int i = 2; i < x.rank; ++i) inner *= x.size(i);
  const DType sum = sum_type(c, list);
  Launch k = normalize(c, list, {inner, x.size(1), inner, x.size(1)}, 3, 4);
  k.source.define("VARIANCE", 1);
  k.source.parameter("epsilon", sum, c.node->number(AttrKey::epsilon));
  k.input("means", 1, c.in[1].dtype);
  k.input("rstds", 2, c.in[2].dtype);
  k.load("LOAD_MEAN", c.in[1].dtype, sum);
  k.load("LOAD_RSTD", c.in[2].dtype, sum);
  list.add(std::move(k), c.out[0].numel());
}

}  // namespace

void define_normalizations(Definitions& d) {
  d.set(Op::layer_norm, kernel<layer_norm>());
  d.set(Op::rms_norm, kernel<rms_norm>());
  d.set(Op::group_norm, kernel<group_norm>());
  Kernel batch = kernel<batch_norm>();
  batch.strided = ~0b110u;  // mean and variance are read one after the other
  d.set(Op::batch_norm, batch);
}

}  // namespace tern::portable
