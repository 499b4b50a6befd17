// pool, adaptive_pool, fractional_pool and fold.
#include <cstdlib>
#include <optional>

#include "kernels/portable/axes.h"
#include "kernels/portable/definitions.h"
#include "kernels/portable/reduce.h"
#include "kernels/portable/window.h"
#include "schema/absent.h"
#include "schema/window_kinds.h"

namespace tern::portable {
namespace {

/// The elements of a window inside the image, and the window's length including padding.
constexpr const char* kRange =
    "const PLACE_T dilation##a = (PLACE_T)p.dilations[a]; const PLACE_T size##a = (PLACE_T)p.x_sizes[a]; "
    "const PLACE_T start##a = at[a] * (PLACE_T)p.strides[a] - (PLACE_T)p.before[a]; "
    "const PLACE_T reach##a = start##a + (PLACE_T)(p.extent[a] - 1) * dilation##a + 1; "
    "const PLACE_T behind##a = size##a + (PLACE_T)p.before[a]; "
    "const PLACE_T padded##a = (reach##a < behind##a ? reach##a : behind##a) - start##a; "
    "const PLACE_T begin##a = start##a >= 0 ? start##a : start##a + (-start##a + dilation##a - 1) / dilation##a * "
    "dilation##a; const PLACE_T end##a = reach##a < size##a ? reach##a : size##a;";
/// floor(i * in / out) to ceil((i + 1) * in / out), without overflow.
constexpr const char* kAdaptiveRange =
    "const tern_i64 begin##a = at[a] / p.out_sizes[a] * p.x_sizes[a] + at[a] % p.out_sizes[a] * p.x_sizes[a] / "
    "p.out_sizes[a]; const tern_i64 next##a = at[a] + 1; "
    "const tern_i64 end##a = next##a / p.out_sizes[a] * p.x_sizes[a] + (next##a % p.out_sizes[a] * p.x_sizes[a] + "
    "p.out_sizes[a] - 1) / p.out_sizes[a];";

constexpr std::int64_t kMostWindowElements = 27;  // largest window read at once by an item

Three inverses_of(const Three& sizes) {
  Three inverses{};
  for (std::size_t a = 0; a < 3; ++a) inverses[a] = inverse_of(sizes[a]);
  return inverses;
}

const TensorView& sized_output(const KernelCall& c) {
  return c.wants_output(0) ? c.out[0] : c.out[1];
}

/// Common declarations: x by planes, results and their positions.
void declare(Launch& k, const KernelCall& c, std::size_t n, DType value, bool max) {
  const TensorView& x = c.in[0];
  Axes planes;
  for (int i = 0; i < x.rank - static_cast<int>(n); ++i) planes.add(x.size(i), x.stride(i));
  k.type("VALUE_T", value);
  k.input("x", 0, x.dtype);
  k.load("LOAD_X", x.dtype, value);
  planes.declare(k.source, "planes");
  k.source.define("MAX", max ? 1 : 0);
  k.source.define("LOWEST", lowest_or_highest(value, true));
  k.source.define("VALUES", c.wants_output(0) ? 1 : 0);
  k.source.define("INDICES", c.wants_output(1) ? 1 : 0);
  if (c.wants_output(0)) {
    k.output("out", 0, c.out[0].dtype);
    k.store("STORE", value, c.out[0].dtype);
  }
  if (c.wants_output(1)) k.output("indices", 1, DType::i64);
  k.parameter("count", sized_output(c).numel());
  parameter(k, "x_sizes", last_sizes(x, n));
  parameter(k, "x_strides", last_strides(x, n));
  parameter(k, "out_sizes", last_sizes(sized_output(c), n));
}

/// True if offsets within a plane and numbers of results fit into 32 bits, including windows reaching beyond the plane.
bool is_narrow(const KernelCall& c, const Target& target, std::size_t n) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  const TensorView& x = c.in[0];
  std::int64_t span = 0, sizes = 1;
  for (int a = x.rank - static_cast<int>(n); a < x.rank; ++a) {
    span += x.size(a) * std::abs(x.stride(a));
    sizes *= x.size(a);
  }
  return target.groups && span < kMost && sizes < kMost && sized_output(c).numel() < kMost;
}

bool is_max(const KernelCall& c) {
  return static_cast<PoolKind>(c.node->integer(AttrKey::kind)) == PoolKind::max;
}

/// True if window `a` of the last axes equals the whole axis (a single window).
bool is_whole(const Node& node, std::size_t a, std::int64_t size) {
  return node.integer_at(AttrKey::kernel, a) == size && node.integer_at(AttrKey::before, a) == 0 &&
         node.integer_at(AttrKey::dilations, a) == 1;
}

/// The axes of a pool with windows equal to whole axes or (adaptive pools) to single elements. On devices with groups,
/// neighbouring items read such windows, like reductions.
std::optional<SplitAxes> reduced_axes(const KernelCall& c, const Target& target, std::size_t n, bool adaptive) {
  const TensorView& x = c.in[0];
  if (!target.groups || !c.wants_output(0) || c.wants_output(1) || x.numel() == 0 || !is_floating(x.dtype))
    return std::nullopt;
  SplitAxes axes;
  for (int i = 0; i < x.rank; ++i) {
    const std::int64_t size = x.size(i), wanted = c.out[0].size(i);
    const int a = i - (x.rank - static_cast<int>(n));
    if (a >= 0 && wanted == 1 && (adaptive || is_whole(*c.node, static_cast<std::size_t>(a), size))) {
      axes.reduced.add(size, x.stride(i));
    } else if (a < 0 || (adaptive && wanted == size)) {
      axes.retained.add(size, x.stride(i));
    } else {
      return std::nullopt;
    }
  }
  return axes.reduced.count > 1 ? std::optional(axes) : std::nullopt;
}

void pool(const KernelCall& c, Launches& list) {
  const Node& node = *c.node;
  const std::size_t n = node.dims(AttrKey::kernel).size();
  const bool narrow = is_narrow(c, list.target(), n);
  Launch k("pool");
  declare(k, c, n, number_type(c.in[0].dtype), is_max(c));
  k.source.define("NARROW", narrow ? 1 : 0);
  k.source.define("RANGE(a)", kRange);
  k.source.define("ROWS_FIRST", 0);
  k.source.define("FIRST_PLACE", std::int64_t{-1});
  const std::int64_t divisor = node.integer(AttrKey::divisor);
  k.source.define("DIVISOR", divisor != 0                             ? "p.divisor"
                             : node.integer(AttrKey::count_pads) != 0 ? "(tern_i64)padded0 * padded1 * padded2"
                                                                      : "inside");
  k.parameter("divisor", divisor);
  const Three kernel = three_of(node, AttrKey::kernel, n, 1);
  // Small windows are read in a single step, because a loop would wait for each element.
  const std::int64_t elements = kernel[0] * kernel[1] * kernel[2];
  k.source.define("WINDOW", narrow && elements <= kMostWindowElements ? elements : 0);
  if (narrow) {
    for (std::size_t a = 0; a < 3; ++a) k.source.define("EXTENT" + std::to_string(a), kernel[a]);
    parameter(k, "out_inverses", inverses_of(last_sizes(sized_output(c), n)));
  }
  Three strides{1, 1, 1};
  for (std::size_t i = 0; i < n; ++i) strides[3 - n + i] = pool_stride(node, i);
  parameter(k, "extent", kernel);
  parameter(k, "strides", strides);
  parameter(k, "dilations", three_of(node, AttrKey::dilations, n, 1));
  parameter(k, "before", three_of(node, AttrKey::before, n, 0));
  list.add(std::move(k), sized_output(c).numel());
}

void adaptive_pool(const KernelCall& c, Launches& list) {
  const std::size_t n = c.node->dims(AttrKey::sizes).size();
  Launch k("pool");
  declare(k, c, n, number_type(c.in[0].dtype), is_max(c));
  k.source.define("NARROW", 0);
  k.source.define("WINDOW", 0);
  k.source.define("RANGE(a)", kAdaptiveRange);
  k.source.define("ROWS_FIRST", 1);
  k.source.define("FIRST_PLACE", std::int64_t{-1});
  k.source.define("DIVISOR", "inside");
  parameter(k, "dilations", {1, 1, 1});
  list.add(std::move(k), sized_output(c).numel());
}

void faster_pool(const KernelCall& c, Launches& list) {
  const std::size_t n = c.node->dims(AttrKey::kernel).size();
  const auto axes = reduced_axes(c, list.target(), n, false);
  if (!axes || c.node->integer(AttrKey::divisor) != 0) return pool(c, list);
  reduce_axes(c, list, *axes, is_max(c) ? ReduceKind::max : ReduceKind::mean);
}

void faster_adaptive_pool(const KernelCall& c, Launches& list) {
  const auto axes = reduced_axes(c, list.target(), c.node->dims(AttrKey::sizes).size(), true);
  if (!axes) return adaptive_pool(c, list);
  reduce_axes(c, list, *axes, is_max(c) ? ReduceKind::max : ReduceKind::mean);
}

void fractional_pool(const KernelCall& c, Launches& list) {
  const std::size_t n = c.node->dims(AttrKey::kernel).size();
  const DType value = number_type(c.in[0].dtype);
  Launch k("fractional_pool");
  declare(k, c, n, value, true);
  k.source.define("AXES", static_cast<std::int64_t>(n));
  k.input("samples", 1, c.in[1].dtype);
  k.load("LOAD_S", c.in[1].dtype, value);
  k.source.view("samples", c.in[1]);
  parameter(k, "extent", three_of(*c.node, AttrKey::kernel, n, 1));
  list.add(std::move(k), sized_output(c).numel());
}

void fold(const KernelCall& c, Launches& list) {
  const Node& node = *c.node;
  const TensorView &x = c.in[0], &out = c.out[0];
  const std::size_t n = node.dims(AttrKey::kernel).size();
  const DType sum = number_type(x.dtype);
  const Three sizes = last_sizes(out, n), kernel = three_of(node, AttrKey::kernel, n, 1),
              strides = three_of(node, AttrKey::strides, n, 1), dilations = three_of(node, AttrKey::dilations, n, 1),
              before = three_of(node, AttrKey::before, n, 0);
  Three windows{};
  for (std::size_t i = 0; i < 3; ++i)
    windows[i] = (sizes[i] + 2 * before[i] - dilations[i] * (kernel[i] - 1) - 1) / strides[i] + 1;
  Launch k("fold");
  k.source.arithmetic("SUM", sum);
  k.input("x", 0, x.dtype);
  k.load("LOAD_X", x.dtype, sum);
  k.source.view("x", x);
  k.output("out", 0, out.dtype);
  k.store("STORE", sum, out.dtype);
  k.parameter("count", out.numel());
  k.parameter("columns", x.size(2));
  parameter(k, "sizes", sizes);
  parameter(k, "extent", kernel);
  parameter(k, "strides", strides);
  parameter(k, "dilations", dilations);
  parameter(k, "before", before);
  parameter(k, "windows", windows);
  list.add(std::move(k), out.numel());
}

}  // namespace

void define_pools(Definitions& d) {
  d.set(Op::pool, kernel<pool>());
  d.set_faster(Op::pool, kernel<faster_pool>());
  d.set(Op::adaptive_pool, kernel<adaptive_pool>());
  d.set_faster(Op::adaptive_pool, kernel<faster_adaptive_pool>());
  d.set(Op::fractional_pool, kernel<fractional_pool>());
  d.set(Op::fold, kernel<fold>());
}

}  // namespace tern::portable
