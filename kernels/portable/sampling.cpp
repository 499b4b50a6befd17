// resize, its gradient, and grid_sample.
#include <tern/error.h>

#include <algorithm>
#include <span>

#include "kernels/cpu/windows/resize_table.h"
#include "kernels/portable/definitions.h"
#include "kernels/portable/window.h"
#include "schema/pointwise.h"

namespace tern::portable {
namespace {

/// The table of the gradient: for each input element of `t` the outputs reading the element, in order. All rows have
/// the length of the longest, and at least 2.
template <class T>
cpu::ResizeTable<T> transposed(const cpu::ResizeTable<T>& t) {
  std::vector<std::int64_t> readers(static_cast<std::size_t>(t.in), 0);
  for (std::size_t k = 0; k < t.index.size(); ++k) {
    if (t.index[k] >= 0) ++readers[static_cast<std::size_t>(t.index[k])];
  }
  cpu::ResizeTable<T> r;
  r.in = t.out;
  r.out = t.in;
  r.taps = std::max<std::int64_t>(2, *std::ranges::max_element(readers));
  r.identity = false;
  if (r.taps > (1 << 28) / r.out)
    fail(ErrorCode::unsupported, "the gradient of such an uneven resize needs too much memory");
  r.index.assign(static_cast<std::size_t>(r.taps * r.out), -1);
  r.weight.assign(r.index.size(), T(0));
  std::ranges::fill(readers, 0);
  for (std::size_t k = 0; k < t.index.size(); ++k) {
    if (t.index[k] < 0) continue;
    const auto x = static_cast<std::size_t>(t.index[k]);
    const std::size_t at = x * static_cast<std::size_t>(r.taps) + static_cast<std::size_t>(readers[x]++);
    r.index[at] = static_cast<std::int64_t>(k) / t.taps;
    r.weight[at] = t.weight[k];
  }
  return r;
}

/// Resizes axis by axis, the innermost first; intermediate results are in the scratch.
template <class T>
void resize_in(const KernelCall& c, Launches& list, DType t) {
  const bool gradient = c.node->op == Op::resize_gradient;
  const TensorView &x = c.in[0], &out = c.out[0];
  const bool image = cpu::resizes_bytes(*c.node, x);
  TensorView now = x;
  bool first = true;
  std::uint64_t from = 0;
  for (int axis = x.rank - 1; axis >= 2; --axis) {
    cpu::ResizeTable<T> table = cpu::resize_table<T>(c, axis);
    if (gradient) table = transposed(table);
    if (image) cpu::quantise(table.index, table.weight, table.out, table.taps);
    const bool last = axis == 2;
    TensorView next = now;
    next.sizes[static_cast<std::size_t>(axis)] = out.size(axis);
    make_contiguous(next);
    std::int64_t inner = 1;
    for (int i = axis + 1; i < x.rank; ++i) inner *= now.size(i);
    const std::uint64_t to = last ? 0 : list.scratch(static_cast<std::uint64_t>(next.numel()) * sizeof(T));
    Launch k("resize_axis");
    k.type("T", t);
    k.source.define("IMAGE", image && !table.identity ? 1 : 0);
    k.source.define("GRADIENT", gradient ? 1 : 0);
    k.source.define("BYTES", last && out.dtype == DType::u8 ? 1 : 0);
    const DType x_type = first ? x.dtype : t;
    if (first) {
      k.input("x", 0, x_type);
      k.source.view("x", x);
    } else {
      k.scratch("x", from, x_type, false);
      k.source.view("x", now);
    }
    k.load("LOAD_X", x_type, t);
    k.table("places", list.table(std::as_bytes(std::span(table.index))), DType::i64);
    k.table("weights", list.table(std::as_bytes(std::span(table.weight))), t);
    if (last) {
      k.output("out", 0, out.dtype);
    } else {
      k.scratch("out", to, t, true);
    }
    k.store("STORE", t, last ? out.dtype : t);
    k.parameter("count", next.numel());
    k.parameter("inner", inner);
    k.parameter("in_size", x.size(axis));
    k.parameter("out_size", out.size(axis));
    k.parameter("taps", table.taps);
    list.add(std::move(k), next.numel());
    now = next;
    from = to;
    first = false;
  }
}

void resize(const KernelCall& c, Launches& list) {
  if (c.out[0].numel() == 0) return;
  const bool wide = (c.in[0].dtype == DType::f64 || c.in[0].dtype == DType::u8) && list.target().has_double;
  wide ? resize_in<double>(c, list, DType::f64) : resize_in<float>(c, list, DType::f32);
}

void grid_sample(const KernelCall& c, Launches& list) {
  const TensorView &x = c.in[0], &grid = c.in[1], &out = c.out[0];
  if (out.numel() == 0) return;
  const auto axes = static_cast<std::size_t>(x.rank - 2);
  const DType t = compute_type(x.dtype);
  Launch k("grid_sample");
  k.type("T", t);
  k.source.choice("AXES", static_cast<std::int64_t>(axes));
  k.source.define("MODE", c.node->integer(AttrKey::mode));
  k.source.choice("PADDING", c.node->integer(AttrKey::kind));
  k.source.choice("ALIGN_CORNERS", c.node->integer(AttrKey::align_corners) != 0 ? 1 : 0);
  // PyTorch computes 16-bit types without widening.
  k.source.define("ROUND(v)", x.dtype == t ? "(v)" : converted(x.dtype, t, converted(t, x.dtype, "(v)")));
  k.input("x", 0, x.dtype);
  k.load("LOAD_X", x.dtype, t);
  k.input("grid", 1, grid.dtype);
  k.load("LOAD_GRID", grid.dtype, t);
  k.source.view("grid", grid);
  k.output("out", 0, out.dtype);
  k.store("STORE", t, out.dtype);
  Three sizes{1, 1, 1}, strides{};
  for (std::size_t i = 0; i < axes; ++i) {  // the innermost first
    sizes[i] = x.size(x.rank - 1 - static_cast<int>(i));
    strides[i] = x.stride(x.rank - 1 - static_cast<int>(i));
  }
  k.parameter("count", out.numel());
  k.parameter("channels", x.size(1));
  k.parameter("points", out.numel() / (out.size(0) * x.size(1)));
  k.parameter("x_batch", x.stride(0));
  k.parameter("x_channel", x.stride(1));
  parameter(k, "sizes", sizes);
  parameter(k, "strides", strides);
  list.add(std::move(k), out.numel());
}

constexpr std::string_view kGradientSamples[] = {
    "T=f32|f64: T[1,2,4]; mode=nearest, sizes=[3]",
    "T=f32|f64: T[1,2,4,5]; mode=linear|cubic, sizes=[3,8]",
    "T=f32|f64: T[1,2,4,5]; mode=linear|lanczos, sizes=[3,8], antialias=1",
};
constexpr std::string_view kGridSampleSamples[] = {
    "T=f32|f64|f16|bf16: T[1,2,3,3], T[1,2,2,2]; mode=linear|nearest|cubic, kind=zeros",
};

}  // namespace

void define_sampling(Definitions& d) {
  d.set(Op::resize, kernel<resize>());
  d.set(Op::resize_gradient, kernel<resize>(), {.samples = kGradientSamples});
  d.set(Op::grid_sample, kernel<grid_sample>(), {.samples = kGridSampleSamples, .sight = Sight::narrow});
}

}  // namespace tern::portable
