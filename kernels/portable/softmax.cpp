#include "kernels/portable/axes.h"
#include "kernels/portable/definitions.h"
#include "kernels/portable/extremes.h"
#include "kernels/portable/launches.h"
#include "kernels/portable/rows.h"
#include "schema/pointwise.h"

namespace tern::portable {
namespace {

/// What both texts declare: a line for each item, or a line by lanes.
struct Lines {
  Axes from, to;
  std::int64_t length, x_step, y_step;
  void declare(Launch& k) const {
    from.declare(k.source, "from");
    to.declare(k.source, "to");
    k.parameter("lines", from.count);
    k.parameter("length", length);
    k.parameter("x_step", x_step);
    k.parameter("y_step", y_step);
  }
};

void by_rows(const KernelCall& c, Launches& list, const Rows& rows, const Lines& lines, DType t, DType sum) {
  const DType x = c.in[0].dtype, y = c.out[0].dtype;
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
  rows.add(list, std::move(k), lines.from.count);
}

constexpr std::int64_t kGroup = 256, kRun = 512;  // of the launch that writes long rows
constexpr std::int64_t kManyParts = 256;          // are joined once, not by each group of that launch
constexpr std::int64_t kJoining = 64;

/// The sums of each row's parts.
void join_sums(Launches& list, std::uint64_t from, std::uint64_t to, DType sum, std::int64_t rows, std::int64_t parts) {
  Launch k("reduce_parts");
  k.source.arithmetic("ACC", sum);
  k.source.define("START", "ACC_ZERO");
  k.source.define("JOIN(a, b)", "ACC_ADD(a, b)");
  k.source.define("FINISH(a)", "(a)");
  k.source.define("GROUP", kJoining);
  k.scratch("x", from, sum, false);
  k.scratch("out", to, sum, true);
  k.store("STORE", sum, sum);
  k.parameter("parts", parts);
  list.add(std::move(k), rows * kJoining, static_cast<std::uint32_t>(kJoining));
}

/// Few long rows, each by several groups: the largest elements of parts, their sums, the result.
void in_parts(const KernelCall& c, Launches& list, const RowParts& parts, const Lines& lines, const Axes& along,
              DType t, DType sum) {
  const DType x = c.in[0].dtype, y = c.out[0].dtype;
  const std::int64_t rows = lines.from.count, count = rows * parts.count;
  const auto bytes = [&](std::int64_t n, DType e) {
    return list.scratch(static_cast<std::uint64_t>(n * element_size(e)));
  };
  const std::uint64_t tops = bytes(count, t), top_of = bytes(rows, t);
  std::uint64_t sums = bytes(count, sum);
  RowLayout layout(lines.from, along);
  layout.count = count;
  layout.length = parts.run;
  const Rows how = *Rows::choose(list.target(), layout, t, false);
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
  lines.from.declare(top.source, "kept");
  along.declare(top.source, "reduced");
  top.parameter("results", rows);
  top.parameter("parts", parts.count);
  top.parameter("run", parts.run);
  top.parameter("count", lines.length);
  how.add(list, std::move(top), count);
  Launch part("softmax_parts");
  how.declare(part.source);
  how.type(part.source, "T", t);
  how.math(part.source, "MATH", t);
  how.type(part.source, "SUM_T", sum);
  part.input("x", 0, x);
  how.load(part.source, "LOAD_X", x, x, t);
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
  Launch end("softmax_end");
  end.type("T", t);
  end.source.math("MATH", t);
  end.type("SUM_T", sum);
  end.source.math("SUM_MATH", sum);
  end.source.define("LOG", c.node->integer(AttrKey::log) != 0 ? 1 : 0);
  end.source.define("GROUP", kGroup);
  end.input("x", 0, x);
  end.load("LOAD_X", x, t);
  end.scratch("part_sums", sums, sum, false);
  end.scratch("top_of", top_of, t, false);
  end.output("y", 0, y);
  end.store("STORE", t, y);
  lines.declare(end);
  end.parameter("parts", left);
  end.parameter("run", kRun);
  const std::int64_t blocks = (lines.length + kRun - 1) / kRun;
  list.add(std::move(end), rows * blocks * kGroup, static_cast<std::uint32_t>(kGroup));
}

void softmax(const KernelCall& c, Launches& list) {
  const TensorView x = as_line(c.in[0]), y = as_line(c.out[0]);
  if (y.numel() == 0) return;
  const int axis = axis_of(*c.node, x.rank);
  const bool wide = compute_type(x.dtype) == DType::f64 || compute_type(y.dtype) == DType::f64;
  const DType t = wide ? DType::f64 : DType::f32;
  const DType sum = wide_type(t, list.target().has_double);
  const Lines lines{axes_without(x, axis), axes_without(y, axis), x.size(axis), x.stride(axis), y.stride(axis)};
  Axes along;
  along.add(x.size(axis), x.stride(axis));
  RowLayout layout(lines.from, along);
  layout.dense = layout.dense && lines.y_step == 1;
  const RowParts parts = row_parts(list.target(), layout);
  if (parts.count > 1) return in_parts(c, list, parts, lines, along, t, sum);
  if (const auto rows = Rows::choose(list.target(), layout, t, true)) return by_rows(c, list, *rows, lines, t, sum);
  Launch k("softmax");
  k.type("T", t);
  k.source.math("MATH", t);
  k.type("SUM_T", sum);
  k.source.math("SUM_MATH", sum);
  k.source.use("parts");
  k.source.define("LOG", c.node->integer(AttrKey::log) != 0 ? 1 : 0);
  k.input("x", 0, x.dtype);
  k.load("LOAD_X", x.dtype, t);
  k.output("y", 0, y.dtype);
  k.store("STORE", t, y.dtype);
  lines.declare(k);
  list.add(std::move(k), lines.from.count);
}

}  // namespace

void define_softmax(Definitions& d) {
  d.set(Op::softmax, kernel<softmax>());
}

}  // namespace tern::portable
