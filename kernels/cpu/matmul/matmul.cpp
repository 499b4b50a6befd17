// matmul: operands are brought into the type that sums are made in where they have another, axes that the second
// operand does not have are merged into rows, and each remaining plane is one product. A matrix of float32 or narrower
// floats whose columns lie in one piece each is read as it lies, unless it was packed at export; a constant bfloat16
// one is packed once where the processor multiplies that type, and other narrow ones where their columns do not. That
// is, unless the call asks for another way.
#include "kernels/cpu/dnnl/matmul.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "kernels/cpu/amx/linear.h"
#include "kernels/cpu/channels_last/panels.h"
#include "kernels/cpu/contractions.h"
#include "kernels/cpu/dense.h"
#include "kernels/cpu/matmul/gemm.h"
#include "kernels/cpu/linear/linear.h"
#include "kernels/cpu/pointwise/epilogue.h"
#include "kernels/cpu/sgemm/sgemm.h"
#include "threads/parallel.h"

namespace tern::cpu {
namespace {

/// The axes before the last two that are left after merging, innermost first, with strides in elements.
struct Batch {
  int count = 0;
  std::array<std::int64_t, kMaxRank> size{}, a{}, b{};
  std::int64_t planes = 1;
};

struct Problem {
  DType type = DType::f32;  ///< of the sums
  TensorView a, b;          ///< as the product reads them: converted, if need be (data not set)
  bool convert_a = false, convert_b = false, convert_c = false;
  std::int64_t m = 0, n = 0, k = 0;
  Batch batch;
};

/// A view that gemm can read, or the dense one that `v` has to be copied to.
bool needs_copy(const TensorView& v, DType type) {
  const int r = v.rank;
  return v.dtype != type || !gemm_layout(v.size(r - 2), v.size(r - 1), v.stride(r - 2), v.stride(r - 1));
}

TensorView dense_like(const TensorView& v, DType type) {
  TensorView d = planes_without_repeats(v);
  d.dtype = type;
  make_contiguous(d);
  return d;
}

Problem describe(const KernelCall& c) {
  Problem p;
  p.type = gemm_type(c.in[0].dtype);
  const TensorView& out = c.out[0];
  const int rank = out.rank;
  const TensorView a = with_rank(c.in[0], rank), b = with_rank(c.in[1], rank);
  p.convert_a = needs_copy(a, p.type);
  p.convert_b = needs_copy(b, p.type);
  p.convert_c = out.dtype != p.type;
  p.a = p.convert_a ? dense_like(a, p.type) : a;
  p.b = p.convert_b ? dense_like(b, p.type) : b;
  p.m = a.size(rank - 2);
  p.k = a.size(rank - 1);
  p.n = b.size(rank - 1);
  bool merging = true;
  for (int i = rank - 3; i >= 0; --i) {
    const std::int64_t size = out.size(i);
    if (size == 1) continue;
    const std::int64_t sa = p.a.size(i) == 1 ? 0 : p.a.stride(i), sb = p.b.size(i) == 1 ? 0 : p.b.stride(i);
    // Rows of a plane that follow those of the plane before, multiplied by the same matrix, are just more rows.
    if (merging && sb == 0 && (p.a.stride(rank - 1) == 1 || p.k == 1) &&
        (p.m == 1 || sa == p.m * p.a.stride(rank - 2))) {
      if (p.m == 1) p.a.strides[static_cast<std::size_t>(rank - 2)] = sa;
      if (gemm_layout(p.m * size, p.k, p.a.stride(rank - 2), p.a.stride(rank - 1))) {
        p.m *= size;
        continue;
      }
    }
    merging = false;
    const auto at = static_cast<std::size_t>(p.batch.count++);
    p.batch.size[at] = size;
    p.batch.a[at] = sa;
    p.batch.b[at] = sb;
    p.batch.planes *= size;
  }
  return p;
}

struct Buffers {
  std::byte *a, *b, *c;
};
Buffers buffers(const Problem& p, std::int64_t result, ScratchParts& parts) {
  const std::int64_t size = element_size(p.type);
  return {p.convert_a ? parts.take<std::byte>(planes_without_repeats(p.a).numel() * size) : nullptr,
          p.convert_b ? parts.take<std::byte>(planes_without_repeats(p.b).numel() * size) : nullptr,
          p.convert_c ? parts.take<std::byte>(result * size) : nullptr};
}

/// A product that reads the second operand where it lies. The other operands and the result are float32 while it is
/// made.
struct InPlace {
  LinearShape shape;
  bool convert_x = false, convert_bias = false, convert_y = false;
  bool bf16 = false;  ///< but x is multiplied in bfloat16, as the second operand
};

struct State : KernelState {
  std::unique_ptr<pointwise::Epilogue> epilogue;
  std::unique_ptr<amx::Linear> tiles;              ///< or
  std::optional<channels_last::Convolution> rows;  ///< or
  const float* panels = nullptr;                   ///< of rows
  std::optional<InPlace> linear;                   ///< or
  std::unique_ptr<dnnl_cpu::PackedMatmul> packed;
  std::int64_t m = 0, n = 0, k = 0;
  bool convert = false;  ///< operands and result have another type than the primitive, f32
};

/// The state of a product on matrix tiles, or null.
const State* tiles_state(const KernelCall& c) {
  const auto* s = static_cast<const State*>(c.state);
  return s != nullptr && s->tiles != nullptr ? s : nullptr;
}

/// The state of a product that oneDNN makes, or null.
const State* packed_state(const KernelCall& c) {
  const auto* s = static_cast<const State*>(c.state);
  return s != nullptr && s->packed != nullptr ? s : nullptr;
}

struct LinearBuffers {
  float *x, *bias, *y;
};
LinearBuffers buffers(const InPlace& l, ScratchParts& parts) {
  return {l.convert_x ? parts.take<float>(l.shape.m * l.shape.k) : nullptr,  // room for bfloat16 too
          l.convert_bias ? parts.take<float>(l.shape.n) : nullptr,
          l.convert_y ? parts.take<float>(l.shape.m * l.shape.n) : nullptr};
}

/// The product that reads the second operand where it lies, or null.
const InPlace* linear_state(const KernelCall& c) {
  const auto* s = static_cast<const State*>(c.state);
  return s != nullptr && s->linear ? &*s->linear : nullptr;
}

struct PackedBuffers {
  std::byte* primitive;
  float *a, *bias, *c;
};
PackedBuffers buffers(const State& s, ScratchParts& parts) {
  PackedBuffers b{parts.take<std::byte>(static_cast<std::int64_t>(s.packed->scratch())), nullptr, nullptr, nullptr};
  if (s.convert) b = {b.primitive, parts.take<float>(s.m * s.k), parts.take<float>(s.n), parts.take<float>(s.m * s.n)};
  return b;
}

/// The result's elements before the product: the bias, broadcast. False where there is none.
bool start_with_bias(const KernelCall& c, DType type, void* sums) {
  if (!c.has(2)) return false;
  TensorView bias = with_rank(c.in[2], c.out[0].rank);
  for (std::size_t i = 0; i < static_cast<std::size_t>(bias.rank); ++i) {
    if (bias.sizes[i] == c.out[0].sizes[i]) continue;
    bias.sizes[i] = c.out[0].sizes[i];
    bias.strides[i] = 0;
  }
  to_dense(bias, type, sums);
  return true;
}

template <class T>
void multiply(const Problem& p, const T* a, const T* b, T* c, bool accumulate) {
  const auto r = static_cast<std::size_t>(p.a.rank);
  const auto plane = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::int64_t rest = i, at_a = 0, at_b = 0;
      for (std::size_t d = 0; d < static_cast<std::size_t>(p.batch.count); ++d) {
        at_a += rest % p.batch.size[d] * p.batch.a[d];
        at_b += rest % p.batch.size[d] * p.batch.b[d];
        rest /= p.batch.size[d];
      }
      gemm<T>(p.m, p.n, p.k, {a + at_a, p.a.strides[r - 2], p.a.strides[r - 1]},
              {b + at_b, p.b.strides[r - 2], p.b.strides[r - 1]}, c + i * p.m * p.n, p.n, accumulate);
    }
  };
  // Many planes: one each for the threads. Few: the threads share each.
  const std::int64_t work = p.m * p.n * p.k;
  if (p.batch.planes >= 2 * Threads::current().count() || work < (1 << 14)) {
    parallel_for(p.batch.planes, std::max<std::int64_t>(1, (1 << 15) / std::max<std::int64_t>(work, 1)), plane);
  } else {
    plane(0, p.batch.planes);
  }
}

/// The matrix of the last two axes of `v`, which is all of it.
TensorView last_plane(const TensorView& v) {
  TensorView plane = v;
  plane.rank = 2;
  for (int i = 0; i < 2; ++i) {
    plane.sizes[static_cast<std::size_t>(i)] = v.size(v.rank - 2 + i);
    plane.strides[static_cast<std::size_t>(i)] = v.stride(v.rank - 2 + i);
  }
  return plane;
}

std::unique_ptr<State> prepare_packed(const KernelCall& c) {
  const DType dtype = c.in[0].dtype;
  if (!is_floating(dtype) || dtype == DType::f64 || !is_floating(c.out[0].dtype) || c.out[0].numel() == 0)
    return nullptr;
  if (c.constant == nullptr || !c.constant[1] || c.in[1].data == nullptr) return nullptr;
  // By itself it is not worth memory of its own.
  if (dtype == DType::f32 && c.in[1].dtype == DType::f32 && c.way != Way::onednn) return nullptr;
  const Problem p = describe(c);
  if (p.batch.planes != 1 || p.k == 0) return nullptr;
  if (c.has(2) && (c.in[2].rank != 1 || c.in[2].size(0) != p.n)) return nullptr;
  const bool own_type = dtype == DType::f32 || (dtype == DType::bf16 && dnnl_cpu::native_bf16());
  const TensorView& a = c.in[0];
  const bool readable =
      dtype == DType::f32 ? !p.convert_a && (p.a.stride(p.a.rank - 1) == 1 || p.k == 1) : a.contiguous();
  const bool direct = own_type && readable && c.in[1].dtype == dtype && c.out[0].dtype == dtype &&
                      (!c.has(2) || c.in[2].dtype == dtype);
  dnnl_cpu::PackedProduct product{p.m, p.n, p.k, direct ? dtype : DType::f32, p.k, last_plane(c.in[1]), c.has(2)};
  for (int i = 0; i < 2; ++i) {
    if (product.weight.stride(i) <= 0 && product.weight.size(i) > 1) return nullptr;
  }
  if (direct && dtype == DType::f32 && p.m > 1) product.lda = p.a.stride(p.a.rank - 2);
  product.access = c.weights;
  auto state = std::make_unique<State>();
  state->packed = dnnl_cpu::packed_matmul(product);
  if (state->packed == nullptr) return nullptr;
  state->unread = 1u << 1;
  state->way = Way::onednn;
  state->m = p.m;
  state->n = p.n;
  state->k = p.k;
  state->convert = !direct;
  return state;
}

bool is_float(DType t) {
  return t == DType::f32 || is_narrow(t);
}

/// Rows that are multiplied as fast widened as by oneDNN in bfloat16: what takes time is reading the weight.
constexpr std::int64_t kFewRows = 8;

/// Needs columns of the second operand that lie in one piece each.
std::optional<InPlace> in_place(const KernelCall& c) {
  const TensorView &x = c.in[0], &w = c.in[1], &y = c.out[0];
  if (!is_float(x.dtype) || !is_float(w.dtype) || !is_float(y.dtype) || y.numel() == 0) return std::nullopt;
  const Problem p = describe(c);
  if (p.batch.planes != 1 || p.k == 0) return std::nullopt;
  if (c.has(2) && (!is_float(c.in[2].dtype) || c.in[2].rank != 1 || c.in[2].size(0) != p.n)) return std::nullopt;
  if (x.dtype == DType::f32 && (p.convert_a || p.a.stride(p.a.rank - 1) != 1)) return std::nullopt;
  const int r = w.rank;
  if (w.stride(r - 2) != 1 || w.stride(r - 1) < 0) return std::nullopt;
  const std::int64_t x_row = p.m == 1 ? p.k : p.a.stride(p.a.rank - 2);
  InPlace in{{p.m, p.n, p.k, x_row, w.stride(r - 1)},
             x.dtype != DType::f32,
             c.has(2) && c.in[2].dtype != DType::f32,
             y.dtype != DType::f32};
  if (x.dtype != DType::bf16 || w.dtype != DType::bf16 || p.m <= kFewRows) return in;
  if (!amx::available() && multiplies_bf16(in.shape)) {
    in.bf16 = true;
    in.convert_x = !x.contiguous();
    return in;
  }
  return dnnl_cpu::native_bf16() ? std::nullopt : std::optional(in);
}

std::unique_ptr<State> prepare_tiles(const LinearShape& s) {
  const amx::LinearShape shape{s.m, s.n, s.k, s.x_row, s.w_row};
  if (!amx::available() || !amx::Linear::suits(shape)) return nullptr;
  auto state = std::make_unique<State>();
  state->way = Way::tiles;
  state->tiles = std::make_unique<amx::Linear>(shape);
  return state;
}

/// With a weight that the archive has as panels: a convolution of positions with their channels side by side.
std::unique_ptr<State> prepare_rows(const KernelCall& c, const LinearShape& s) {
  const bool few = s.m <= kFewRows && c.way == Way::none;
  if (s.x_row != s.k || (s.w_row != s.k && s.n != 1) || few || s.k == 1) return nullptr;
  auto state = std::make_unique<State>();
  state->rows.emplace(channels_last::Convolution{.in = s.k, .out = s.n});
  state->rows->window[1].in = state->rows->window[1].out = s.m;
  state->panels = channels_last::stored_panels(c, *state->rows);
  if (state->panels == nullptr) return nullptr;
  state->way = state->rows->divide(channels_last::product_blocking(c.way)) ? c.way : Way::panels;
  state->unread = 1u << 1;
  return state;
}

/// Null for own products on strided operands.
std::unique_ptr<State> prepare_product(const KernelCall& c) {
  const std::optional<InPlace> linear = in_place(c);
  if (c.way == Way::onednn || !linear) {
    auto packed = prepare_packed(c);
    if (packed != nullptr || !linear) return packed;
  }
  std::unique_ptr<State> state;
  const bool floats = c.in[1].dtype == DType::f32 && !linear->convert_x && !linear->convert_bias && !linear->convert_y;
  if (floats && c.way == Way::blocks) return nullptr;
  if (floats && c.way != Way::in_place) {
    if (channels_last::product_blocking(c.way) == nullptr) state = prepare_tiles(linear->shape);
    if (state == nullptr) state = prepare_rows(c, linear->shape);
  }
  if (state == nullptr) {
    state = std::make_unique<State>();
    state->way = Way::in_place;
    state->linear = linear;
  }
  return state;
}

std::unique_ptr<KernelState> prepare(const KernelCall& c) {
  std::unique_ptr<State> state = prepare_product(c);
  if (state == nullptr) {
    state = std::make_unique<State>();
    state->way = Way::blocks;
  }
  state->epilogue = pointwise::Epilogue::make(c);
  return state;
}

std::size_t scratch(const KernelCall& c) {
  ScratchParts parts;
  if (const State* s = packed_state(c)) {
    buffers(*s, parts);
  } else if (const InPlace* l = linear_state(c)) {
    buffers(*l, parts);
  } else {
    if (const State* t = tiles_state(c)) parts.take<std::byte>(static_cast<std::int64_t>(t->tiles->scratch()));
    buffers(describe(c), c.out[0].numel(), parts);
  }
  return parts.used();
}

void run_packed(KernelCall& c, const State& s, ScratchParts& parts) {
  const PackedBuffers at = buffers(s, parts);
  const void* bias = c.has(2) ? c.in[2].data : nullptr;
  if (!s.convert) return s.packed->run(c.in[0].data, bias, c.out[0].data, at.primitive);
  to_dense(c.in[0], DType::f32, at.a);
  if (bias != nullptr) to_dense(c.in[2], DType::f32, at.bias);
  s.packed->run(at.a, bias == nullptr ? nullptr : at.bias, at.c, at.primitive);
  from_dense(at.c, DType::f32, c.out[0]);
}

/// With the epilogue. False when the result is to be computed in another way.
bool run_tiles(KernelCall& c, const State& s, ScratchParts& parts) {
  auto* room = parts.take<std::byte>(static_cast<std::int64_t>(s.tiles->scratch()));
  return s.tiles->run({c.in[0].as<const float>(),
                       c.in[1].as<const float>(),
                       c.has(2) ? c.in[2].as<const float>() : nullptr,
                       c.out[0].as<float>(),
                       {s.epilogue.get(), &c}},
                      room);
}

/// With the epilogue.
void run_rows(KernelCall& c, const State& s) {
  channels_last::convolve(*s.rows,
                          {c.in[0].as<const float>(), c.in[1].as<const float>(),
                           c.has(2) ? c.in[2].as<const float>() : nullptr, c.out[0].as<float>(), s.panels},
                          {s.epilogue.get(), &c});
}

/// With the epilogue, unless the result has a type of its own: then false.
bool run_linear(KernelCall& c, const InPlace& l, ScratchParts& parts) {
  const LinearBuffers at = buffers(l, parts);
  const void* x = c.in[0].data;
  if (l.convert_x) {
    to_dense(planes_without_repeats(c.in[0]), l.bf16 ? DType::bf16 : DType::f32, at.x);
    x = at.x;
  }
  if (l.convert_bias) to_dense(c.in[2], DType::f32, at.bias);
  const float* bias = l.convert_bias ? at.bias : c.has(2) ? c.in[2].as<const float>() : nullptr;
  float* y = l.convert_y ? at.y : c.out[0].as<float>();
  if (l.bf16) {
    linear(l.shape, Bf16Operands{static_cast<const BFloat16*>(x), c.in[1].as<const BFloat16>(), bias, y});
  } else {
    const auto* s = static_cast<const State*>(c.state);
    const pointwise::Finish finish = l.convert_y ? pointwise::Finish{} : pointwise::Finish{s->epilogue.get(), &c};
    linear(l.shape, {static_cast<const float*>(x), c.in[1].data, bias, y, finish, c.in[1].dtype});
  }
  if (l.convert_y) from_dense(at.y, DType::f32, c.out[0]);
  return !l.convert_y && !l.bf16;
}

/// All but the epilogue, unless that was done piece by piece: then true.
bool run_product(KernelCall& c) {
  const TensorView& out = c.out[0];
  if (const auto* s = static_cast<const State*>(c.state); s != nullptr && s->rows) {
    run_rows(c, *s);
    return true;
  }
  Scratch own(c, scratch(c));
  ScratchParts parts(own.data());
  if (const InPlace* l = linear_state(c)) return run_linear(c, *l, parts);
  if (const State* s = packed_state(c)) {
    run_packed(c, *s, parts);
    return false;
  }
  if (const State* s = tiles_state(c); s != nullptr && run_tiles(c, *s, parts)) return true;
  const Problem p = describe(c);
  const Buffers at = buffers(p, out.numel(), parts);
  if (p.convert_a) to_dense(planes_without_repeats(with_rank(c.in[0], out.rank)), p.type, at.a);
  if (p.convert_b) to_dense(planes_without_repeats(with_rank(c.in[1], out.rank)), p.type, at.b);
  void* sums = p.convert_c ? at.c : out.data;
  const bool accumulate = start_with_bias(c, p.type, sums);
  visit_gemm_type(p.type, [&](auto tag) {
    using T = decltype(tag);
    const auto* a = reinterpret_cast<const T*>(p.convert_a ? at.a : c.in[0].data);
    const auto* b = reinterpret_cast<const T*>(p.convert_b ? at.b : c.in[1].data);
    multiply<T>(p, a, b, static_cast<T*>(sums), accumulate);
  });
  if (p.convert_c) from_dense(sums, p.type, out);
  return false;
}

void run(KernelCall& c) {
  if (c.out[0].numel() == 0) return;
  const bool finished = run_product(c);
  const auto* s = static_cast<const State*>(c.state);
  if (!finished && s != nullptr && s->epilogue != nullptr) s->epilogue->apply(c);
}

constexpr Way kWays[] = {Way::tiles,       Way::panels,   Way::panels_lines, Way::panels_columns, Way::panels_shallow,
                         Way::panels_deep, Way::in_place, Way::blocks,       Way::onednn};

}  // namespace

Kernel matmul_kernel() {
  return {
      .run = run, .scratch = scratch, .prepare = prepare, .strided = ~0b100u, .defers_weights = true, .ways = kWays};
}

}  // namespace tern::cpu
