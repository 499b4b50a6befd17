// reduce: an item for each result, or for a part of a result if there are few results.
#include "kernels/portable/reduce.h"

#include <tern/error.h>

#include <algorithm>

#include "kernels/portable/axes.h"
#include "kernels/portable/columns.h"
#include "kernels/portable/definitions.h"
#include "kernels/portable/extremes.h"
#include "kernels/portable/launches.h"
#include "kernels/portable/rows.h"

namespace tern::portable {
namespace {

/// Joining rule of a reduction kind.
struct Joining {
  DType read = DType::invalid;   ///< elements are converted to this type ...
  DType acc = DType::invalid;    ///< ... and joined in this type
  std::string start, join;       ///< expressions of a and b
  bool ordered = false;          ///< joins in the order of text/parts.inc; false: any order has the same bits
  DType lanes = DType::boolean;  ///< acc, if `join` also joins vectors
};

Joining joining(ReduceKind kind, DType x, DType out, bool has_double) {
  Joining j;
  switch (kind) {
    case ReduceKind::sum:
    case ReduceKind::mean:
    case ReduceKind::prod:
      j.read = number_type(out);
      j.acc = wide_type(j.read, has_double);
      j.ordered = is_floating(j.acc) || is_complex(j.acc);
      j.start = literal(j.acc, std::int64_t{kind == ReduceKind::prod ? 1 : 0});
      j.join = kind == ReduceKind::prod ? "ACC_MUL(a, b)" : "ACC_ADD(a, b)";
      if (j.acc == DType::i64) {  // wraps
        j.join = kind == ReduceKind::prod ? "(tern_i64)((tern_u64)(a) * (tern_u64)(b))"
                                          : "(tern_i64)((tern_u64)(a) + (tern_u64)(b))";
      } else {
        j.lanes = j.acc;
      }
      break;
    case ReduceKind::any:
    case ReduceKind::all:
      j.read = j.acc = DType::boolean;
      j.start = kind == ReduceKind::any ? "0" : "1";
      j.join = kind == ReduceKind::any ? "((a) | (b))" : "((a) & (b))";
      break;
    case ReduceKind::bit_xor:
      j.read = j.acc = j.lanes = number_type(out);
      j.start = "0";
      j.join = "((a) ^ (b))";
      break;
    default: {
      const bool max = kind == ReduceKind::max;
      j.read = j.acc = j.lanes = number_type(x);
      j.start = lowest_or_highest(j.acc, max);
      j.join = extreme(max);
    }
  }
  return j;
}

constexpr std::int64_t kReduceLongRun = 512;  // smallest part of a result for an item of its own; TERN_PART
constexpr std::int64_t kReduceManyItems = 512;
constexpr std::int64_t kReduceManyGroups = 132;
constexpr std::int64_t kMostOfGroup = 8192;  // elements processed by a group in a single step, without a second launch
                                             // for joining
constexpr std::int64_t kPartsOfGroup = 64;

void declare_joining(Launch& k, const Joining& j, bool ordered) {
  k.source.define("ORDERED", ordered ? 1 : 0);
  k.source.arithmetic("ACC", j.acc);
  k.source.define("START", j.start);
  k.source.define("JOIN(a, b)", j.join);
}

}  // namespace

void reduce_axes(const KernelCall& c, Launches& list, const SplitAxes& axes, ReduceKind kind) {
  const TensorView &x = c.in[0], &out = c.out[0];
  const Joining j = joining(kind, x.dtype, out.dtype, list.target().has_double);
  const std::int64_t results = axes.retained.count, count = axes.reduced.count;
  RowGeometry layout(axes.retained, axes.reduced);
  const auto columns = Columns::choose(list.target(), layout, x.dtype);
  const bool by_groups = list.target().groups && layout.nearer;
  const std::int64_t many = by_groups ? (count <= kMostOfGroup ? 1 : kReduceManyGroups) : kReduceManyItems;
  const std::int64_t wanted = columns          ? columns->segment_count()
                              : results < many ? std::min(kReduceManyItems / results, count / kReduceLongRun)
                                               : 1;
  const std::int64_t run = wanted <= 1 ? std::max<std::int64_t>(count, 1)
                           : j.ordered ? kReduceLongRun
                                       : (count + wanted - 1) / wanted;
  const std::int64_t parts = std::max<std::int64_t>((count + run - 1) / run, 1);
  const std::string finish =
      kind == ReduceKind::mean
          ? (is_complex(j.acc) ? "tern_make_" + type_name(j.acc) + "((a).x / p.divisor, (a).y / p.divisor)"
                               : "(a) / p.divisor")
      : (kind == ReduceKind::max || kind == ReduceKind::min) && is_floating(j.acc) ? "((a) + 0)"  // a zero has no sign
                                                                                   : "(a)";
  const DType divisor = j.acc == DType::f64 || j.acc == DType::c128 ? DType::f64 : DType::f32;
  const std::uint64_t partial =
      parts == 1
          ? 0
          : list.scratch(static_cast<std::uint64_t>(results * parts) * static_cast<std::uint64_t>(element_size(j.acc)));
  layout.count *= parts;
  layout.length = std::min(layout.length, run);
  const std::optional<RowItems> rows = RowItems::choose(list.target(), layout, j.lanes, false);
  Launch k(rows ? "reduce_rows" : columns ? "reduce_columns" : "reduce");
  declare_joining(k, j, j.ordered);
  k.input("x", 0, x.dtype);
  if (columns) columns->declare(k.source);
  if (rows) {
    rows->declare(k.source, kind != ReduceKind::prod || !is_complex(j.acc));  // 0 * infinity
    rows->type(k.source, "ACC_T", j.acc);
    rows->load(k.source, "LOAD_X", x.dtype, j.read, j.acc);
  } else {
    if (j.ordered && !columns) k.source.add_library("parts");
    k.source.load("LOAD_X", x.dtype, j.read, j.acc);
  }
  const auto add = [&] {
    if (columns) return columns->add(list, std::move(k), parts);
    if (rows) return rows->add(list, std::move(k), results * parts);
    list.add(std::move(k), results * parts);
  };
  axes.retained.declare(k.source, "kept");
  axes.reduced.declare(k.source, "reduced");
  k.parameter("results", results);
  k.parameter("parts", parts);
  k.parameter("run", run);
  k.parameter("count", count);
  k.source.parameter("divisor", divisor, static_cast<double>(count));
  if (parts == 1) {
    k.output("out", 0, out.dtype);
    k.store("STORE", j.acc, out.dtype);
    k.source.define("FINISH(a)", finish);
    return add();
  }
  k.scratch("out", partial, j.acc, true);
  k.store("STORE", j.acc, j.acc);
  k.source.define("FINISH(a)", "(a)");
  add();
  // The parts of each result.
  const bool joined_by_groups = list.target().groups && parts > kPartsOfGroup;
  Launch last(joined_by_groups ? "reduce_parts" : "reduce");
  declare_joining(last, j, false);
  last.scratch("x", partial, j.acc, false);
  last.source.parameter("divisor", divisor, static_cast<double>(count));
  last.output("out", 0, out.dtype);
  last.store("STORE", j.acc, out.dtype);
  last.source.define("FINISH(a)", finish);
  if (joined_by_groups) {
    last.source.define("GROUP", kPartsOfGroup);
    last.parameter("parts", parts);
    return list.add(std::move(last), results * kPartsOfGroup, static_cast<std::uint32_t>(kPartsOfGroup));
  }
  last.load("LOAD_X", j.acc, j.acc);
  const std::int64_t sizes[] = {results, parts}, strides[] = {parts, 1};
  last.source.view("kept", {sizes, 1}, {strides, 1});
  last.source.view("reduced", {sizes + 1, 1}, {strides + 1, 1});
  last.parameter("results", results);
  last.parameter("parts", std::int64_t{1});
  last.parameter("run", parts);
  last.parameter("count", parts);
  list.add(std::move(last), results);
}

namespace {

void argument(const KernelCall& c, Launches& list, bool max) {
  const TensorView& x = c.in[0];
  const SplitAxes axes = split_axes(x, c.node->dims(AttrKey::axes));
  const DType t = number_type(x.dtype);
  const auto results = [](Launch& k) {
    k.source.define("FOUND", "out[item] = PLACE;");
    k.output("out", 0, DType::i64);
  };
  if (add_argument(c, list, axes.retained, axes.reduced, t, max, results)) return;
  Launch k("reduce_argument");
  k.input("x", 0, x.dtype);
  k.load("LOAD_X", x.dtype, t);
  k.type("VALUE_T", t);
  k.source.define("BEATS(a, b)", max ? "((a) > (b))" : "((a) < (b))");
  k.source.define("IS_NAN(a)", is_floating(t) ? "((a) != (a))" : "0");
  axes.retained.declare(k.source, "kept");
  axes.reduced.declare(k.source, "reduced");
  k.parameter("results", axes.retained.count);
  k.parameter("count", axes.reduced.count);
  k.output("out", 0, DType::i64);
  list.add(std::move(k), axes.retained.count);
}

void variance(const KernelCall& c, Launches& list) {
  const TensorView &x = c.in[0], &out = c.out[0];
  const SplitAxes axes = split_axes(x, c.node->dims(AttrKey::axes));
  const DType sum = wide_type(number_type(x.dtype), list.target().has_double);
  const DType part = sum == DType::c128 ? DType::f64 : sum == DType::c64 ? DType::f32 : sum;
  const auto count = static_cast<double>(axes.reduced.count);
  const auto rows = RowItems::choose(list.target(), RowGeometry(axes.retained, axes.reduced), sum, true);
  Launch k(rows ? "variance_rows" : "reduce_variance");
  k.source.arithmetic("SUM", sum);
  k.source.define("OVER_COUNT(a)", is_complex(sum)
                                       ? "tern_make_" + type_name(sum) + "((a).x / p.divide, (a).y / p.divide)"
                                       : "((a) / p.divide)");
  if (rows) {
    rows->declare(k.source);
    rows->type(k.source, "SUM_T", sum);
    rows->type(k.source, "PART_T", part);
    k.source.define("SQUARED(a)", is_complex(sum) ? "((a).x * (a).x + (a).y * (a).y)" : "((a) * (a))");
    rows->load(k.source, "LOAD_X", x.dtype, x.dtype, sum);
  } else {
    k.source.add_library("parts");
    k.type("PART_T", part);
    k.source.add("TERN_FN PART_T squared(SUM_T a) { return " +
                 std::string(is_complex(sum) ? "a.x * a.x + a.y * a.y" : "a * a") + "; }\n");
    k.load("LOAD_X", x.dtype, sum);
  }
  k.input("x", 0, x.dtype);
  axes.retained.declare(k.source, "kept");
  axes.reduced.declare(k.source, "reduced");
  k.parameter("results", axes.retained.count);
  k.parameter("count", axes.reduced.count);
  k.source.parameter("divide", part, count);
  k.source.parameter("divisor", part, std::max(0.0, count - c.node->number(AttrKey::correction)));
  k.output("out", 0, out.dtype);
  k.store("STORE", part, out.dtype);
  if (rows) return rows->add(list, std::move(k), axes.retained.count);
  list.add(std::move(k), axes.retained.count);
}

void reduce(const KernelCall& c, Launches& list) {
  const auto kind = static_cast<ReduceKind>(c.node->integer(AttrKey::kind));
  if (c.out[0].numel() == 0) return;
  const bool chooses =
      kind == ReduceKind::max || kind == ReduceKind::min || kind == ReduceKind::argmax || kind == ReduceKind::argmin;
  if (chooses && c.in[0].numel() == 0) fail(ErrorCode::runtime, "the largest or smallest of no elements has no value");
  switch (kind) {
    case ReduceKind::argmax: return argument(c, list, true);
    case ReduceKind::argmin: return argument(c, list, false);
    case ReduceKind::var: return variance(c, list);
    default: return reduce_axes(c, list, split_axes(c.in[0], c.node->dims(AttrKey::axes)), kind);
  }
}

}  // namespace

void define_reductions(Definitions& d) {
  d.set(Op::reduce, kernel<reduce>());
}

}  // namespace tern::portable
