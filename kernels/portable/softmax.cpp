#include "kernels/portable/axes.h"
#include "kernels/portable/definitions.h"
#include "kernels/portable/extremes.h"
#include "kernels/portable/launches.h"
#include "kernels/portable/rows.h"
#include "schema/pointwise.h"

namespace tern::portable {
namespace {

/// Common declarations of both texts: a line for each item, or a line by lanes.
struct SoftmaxLines {
  Axes input, output, along;
  RowGeometry layout;
  std::int64_t length, x_step, y_step;
  DType t, sum;  ///< types of elements, and of the sums of their powers
  void declare(Launch& k) const {
    input.declare(k.source, "from");
    output.declare(k.source, "to");
    k.parameter("lines", input.count);
    k.parameter("length", length);
    k.parameter("x_step", x_step);
    k.parameter("y_step", y_step);
    k.source.define("X_STEP", x_step == 1 ? "1" : "p.x_step");  // addresses then cost nothing
    k.source.define("Y_STEP", y_step == 1 ? "1" : "p.y_step");
  }
};

SoftmaxLines lines_of(const KernelCall& c, const Target& target) {
  const TensorView x = as_line(c.in[0]), y = as_line(c.out[0]);
  const int axis = axis_of(*c.node, x.rank);
  const Axes from = axes_without(x, axis);
  Axes along;
  along.add(x.size(axis), x.stride(axis));
  RowGeometry layout(from, along);
  layout.dense = layout.dense && y.stride(axis) == 1;
  const bool wide = compute_type(x.dtype) == DType::f64 || compute_type(y.dtype) == DType::f64;
  const DType t = wide ? DType::f64 : DType::f32;
  return {from, axes_without(y, axis),          along, layout, x.size(axis), x.stride(axis), y.stride(axis),
          t,    wide_type(t, target.has_double)};
}

void run_rows(const KernelCall& c, Launches& list, const RowItems& rows, const SoftmaxLines& lines) {
  const DType x = c.in[0].dtype, y = c.out[0].dtype, t = lines.t, sum = lines.sum;
  Launch k("softmax_rows");
  rows.declare(k.source);
  rows.type(k.source, "T", t);
  rows.math(k.source, "MATH", t);
  rows.type(k.source, "SUM_T", sum);
  k.source.math("SUM_MATH", sum);
  k.source.define("LOG", c.node->integer(AttrKey::log) != 0 ? 1 : 0);
  k.input("x", 0, x);
  rows.load(k.source, "LOAD_X", x, x, t);
  k.output("y", 0, y);
  rows.store(k.source, "STORE", t, y);
  lines.declare(k);
  rows.add(list, std::move(k), lines.input.count);
}

constexpr std::int64_t kSoftmaxGroup = 256, kSoftmaxRun = 512;  // constants of the launch writing long rows
constexpr std::int64_t kManyParts = 256;  // smallest number of parts joined once, not by each group
constexpr std::int64_t kSoftmaxJoining = 64;
constexpr std::int64_t kSoftmaxLong = 4096;          // row length for sharing a row among several groups
constexpr std::int64_t kSoftmaxFewRows = 32;         // enough groups (a row each) to keep memory busy
constexpr std::int64_t kSoftmaxLongRun = 2048;       // elements written by a group if there are many rows
constexpr std::int64_t kMostPieces = kSoftmaxGroup;  // pieces of a row: a piece for each joining item

/// Joins the sums of each row's parts.
void join_sums(Launches& list, std::uint64_t from, std::uint64_t to, DType sum, std::int64_t rows, std::int64_t parts) {
  Launch k("reduce_parts");
  k.source.arithmetic("ACC", sum);
  k.source.define("START", "ACC_ZERO");
  k.source.define("JOIN(a, b)", "ACC_ADD(a, b)");
  k.source.define("FINISH(a)", "(a)");
  k.source.define("GROUP", kSoftmaxJoining);
  k.scratch("x", from, sum, false);
  k.scratch("out", to, sum, true);
  k.store("STORE", sum, sum);
  k.parameter("parts", parts);
  list.add(std::move(k), rows * kSoftmaxJoining, static_cast<std::uint32_t>(kSoftmaxJoining));
}

/// A launch with a part of a row for each group. The caller adds the scratch, `declare` and the division of rows.
Launch part_launch(const KernelCall& c, const RowItems& how, const SoftmaxLines& lines, const char* name) {
  const DType x = c.in[0].dtype;
  Launch k(name);
  how.declare(k.source);
  how.type(k.source, "T", lines.t);
  how.math(k.source, "MATH", lines.t);
  how.type(k.source, "SUM_T", lines.sum);
  k.input("x", 0, x);
  how.load(k.source, "LOAD_X", x, x, lines.t);
  return k;
}

/// The launch writing long rows. The caller adds the scratch, then add_end.
Launch end_launch(const KernelCall& c, const SoftmaxLines& lines, const char* name) {
  Launch k(name);
  k.type("T", lines.t);
  k.source.math("MATH", lines.t);
  k.type("SUM_T", lines.sum);
  k.source.math("SUM_MATH", lines.sum);
  k.source.define("LOG", c.node->integer(AttrKey::log) != 0 ? 1 : 0);
  k.source.define("GROUP", kSoftmaxGroup);
  k.input("x", 0, c.in[0].dtype);
  k.load("LOAD_X", c.in[0].dtype, lines.t);
  return k;
}

/// A group writes `run` elements of a row; the row has `parts` partial sums.
void add_end(const KernelCall& c, Launches& list, const SoftmaxLines& lines, Launch k, std::int64_t parts,
             std::int64_t run) {
  const DType y = c.out[0].dtype;
  k.output("y", 0, y);
  k.store("STORE", lines.t, y);
  lines.declare(k);
  k.parameter("parts", parts);
  k.parameter("run", run);
  const std::int64_t blocks = (lines.length + run - 1) / run;
  list.add(std::move(k), lines.input.count * blocks * kSoftmaxGroup, static_cast<std::uint32_t>(kSoftmaxGroup));
}

/// Few long rows, each by several groups: the largest elements of parts, their sums, the result.
void run_row_parts(const KernelCall& c, Launches& list, const RowParts& parts, const SoftmaxLines& lines) {
  const DType x = c.in[0].dtype, t = lines.t, sum = lines.sum;
  const std::int64_t rows = lines.input.count, count = rows * parts.count;
  const auto bytes = [&](std::int64_t n, DType e) {
    return list.scratch(static_cast<std::uint64_t>(n * element_size(e)));
  };
  const std::uint64_t tops = bytes(count, t), top_of = bytes(rows, t);
  std::uint64_t sums = bytes(count, sum);
  RowGeometry layout = lines.layout;
  layout.count = count;
  layout.length = parts.run;
  const RowItems how = *RowItems::choose(list.target(), layout, t, false);
  Launch top("reduce_rows");
  top.source.define("ORDERED", std::int64_t{0});
  top.source.define("START", lowest_or_highest(t, true));
  top.source.define("JOIN(a, b)", extreme(true));
  top.source.define("FINISH(a)", "(a)");
  how.declare(top.source);
  how.type(top.source, "ACC_T", t);
  top.input("x", 0, x);
  how.load(top.source, "LOAD_X", x, x, t);
  top.scratch("out", tops, t, true);
  top.store("STORE", t, t);
  lines.input.declare(top.source, "kept");
  lines.along.declare(top.source, "reduced");
  top.parameter("results", rows);
  top.parameter("parts", parts.count);
  top.parameter("run", parts.run);
  top.parameter("count", lines.length);
  how.add(list, std::move(top), count);
  Launch part = part_launch(c, how, lines, "softmax_parts");
  part.scratch("tops", tops, t, false);
  part.scratch("top_of", top_of, t, true);
  part.scratch("part_sums", sums, sum, true);
  lines.declare(part);
  part.parameter("parts", parts.count);
  part.parameter("run", parts.run);
  how.add(list, std::move(part), count);
  std::int64_t left = parts.count;
  if (left > kManyParts) {
    const std::uint64_t whole = bytes(rows, sum);
    join_sums(list, sums, whole, sum, rows, left);
    sums = whole;
    left = 1;
  }
  Launch end = end_launch(c, lines, "softmax_end");
  end.scratch("part_sums", sums, sum, false);
  end.scratch("top_of", top_of, t, false);
  add_end(c, list, lines, std::move(end), left, kSoftmaxRun);
}

/// Long rows, each by several groups, in a device-specific order: reads elements twice, not three times.
void run_pieces(const KernelCall& c, Launches& list, const SoftmaxLines& lines) {
  const DType t = lines.t, sum = lines.sum;
  const std::int64_t run = (lines.length + kSoftmaxRun * kMostPieces - 1) / (kSoftmaxRun * kMostPieces) * kSoftmaxRun;
  const std::int64_t parts = (lines.length + run - 1) / run, count = lines.input.count * parts;
  const auto bytes = [&](DType e) { return list.scratch(static_cast<std::uint64_t>(count * element_size(e))); };
  const std::uint64_t tops = bytes(t), sums = bytes(sum);
  RowGeometry layout = lines.layout;
  layout.count = count;
  layout.length = run;
  const RowItems how = *RowItems::choose(list.target(), layout, t, true);
  Launch piece = part_launch(c, how, lines, "softmax_pieces");
  piece.scratch("tops", tops, t, true);
  piece.scratch("part_sums", sums, sum, true);
  lines.declare(piece);
  piece.parameter("parts", parts);
  piece.parameter("run", run);
  how.add(list, std::move(piece), count);
  Launch end = end_launch(c, lines, "softmax_joined");
  end.scratch("tops", tops, t, false);
  end.scratch("part_sums", sums, sum, false);
  add_end(c, list, lines, std::move(end), parts, lines.input.count < kSoftmaxFewRows ? kSoftmaxRun : kSoftmaxLongRun);
}

void softmax(const KernelCall& c, Launches& list) {
  if (c.out[0].numel() == 0) return;
  const SoftmaxLines lines = lines_of(c, list.target());
  const RowParts parts = row_parts(list.target(), lines.layout);
  if (parts.count > 1 && lines.input.count < kSoftmaxFewRows) return run_row_parts(c, list, parts, lines);
  if (const auto rows = RowItems::choose(list.target(), lines.layout, lines.t, true))
    return run_rows(c, list, *rows, lines);
  Launch k("softmax");
  k.type("T", lines.t);
  k.source.math("MATH", lines.t);
  k.type("SUM_T", lines.sum);
  k.source.math("SUM_MATH", lines.sum);
  k.source.add_library("parts");
  k.source.define("LOG", c.node->integer(AttrKey::log) != 0 ? 1 : 0);
  k.input("x", 0, c.in[0].dtype);
  k.load("LOAD_X", c.in[0].dtype, lines.t);
  k.output("y", 0, c.out[0].dtype);
  k.store("STORE", lines.t, c.out[0].dtype);
  lines.declare(k);
  list.add(std::move(k), lines.input.count);
}

void faster_softmax(const KernelCall& c, Launches& list) {
  if (c.out[0].numel() == 0) return;
  const SoftmaxLines lines = lines_of(c, list.target());
  if (!list.target().groups || !lines.layout.nearer || lines.length < kSoftmaxLong) return softmax(c, list);
  if (lines.input.count >= kSoftmaxFewRows) {
    const auto rows = RowItems::choose(list.target(), lines.layout, lines.t, true);
    if (rows && rows->caches_elements()) return run_rows(c, list, *rows, lines);
  }
  run_pieces(c, list, lines);
}

}  // namespace

void define_softmax(Definitions& d) {
  d.set(Op::softmax, kernel<softmax>());
  d.set_faster(Op::softmax, kernel<faster_softmax>());
}

}  // namespace tern::portable
