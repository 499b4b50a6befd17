// Products that read the second operand where it lies, in its own type.
#include <fmt/format.h>

#include <cmath>
#include <string>

#include "dtypes/convert.h"
#include "kernels/cpu/dnnl/matmul.h"
#include "kernels/cpu/products/choose.h"
#include "kernels/cpu/products/packed_weight.h"
#include "kernels/cpu/products/problem.h"

namespace tern::cpu {
namespace {

bool is_float(DType t) {
  return t == DType::f32 || is_narrow_float(t);
}

/// Needs columns of the second operand that lie in one piece each.
std::optional<InPlace> in_place(const KernelCall& c) {
  const TensorView &x = c.in[0], &w = c.in[1], &y = c.out[0];
  if (w.blocks.columns != 0) return std::nullopt;
  if (!is_float(x.dtype) || !(is_float(w.dtype) || is_narrow(w.dtype)) || !is_float(y.dtype) || y.numel() == 0)
    return std::nullopt;
  const Problem p = describe(c);
  if (p.batch.planes != 1 || p.k == 0) return std::nullopt;
  if (c.has_input(2) && (!is_float(c.in[2].dtype) || c.in[2].rank != 1 || c.in[2].size(0) != p.n)) return std::nullopt;
  if (x.dtype == DType::f32 && (p.convert_a || p.a.stride(p.a.rank - 1) != 1)) return std::nullopt;
  // A product by a vector takes no panels of rows.
  if (p.n == 1 && p.m > kFewRows && x.dtype == DType::f32 && w.dtype == DType::f32) return std::nullopt;
  const int r = w.rank;
  if (w.stride(r - 2) != 1 || w.stride(r - 1) < 0) return std::nullopt;
  const std::int64_t x_row = p.m == 1 ? p.k : p.a.stride(p.a.rank - 2);
  InPlace in{{p.m, p.n, p.k, x_row, w.stride(r - 1)},
             x.dtype != DType::f32,
             c.has_input(2) && c.in[2].dtype != DType::f32,
             y.dtype != DType::f32};
  if (x.dtype != DType::bf16 || w.dtype != DType::bf16) return in;
  if ((p.m <= kFewRows || !tiles::available()) && multiplies_bf16(in.shape)) {
    in.bf16 = true;
    in.convert_x = !x.contiguous();
    return in;
  }
  in.uses_onednn = p.m > kFewRows && dnnl_cpu::native_bf16();
  return in;
}

struct LinearBuffers {
  float *x, *bias, *y;
};
LinearBuffers buffers(const InPlace& l, ScratchArena& arena) {
  return {l.convert_x ? arena.allocate<float>(l.shape.m * l.shape.k) : nullptr,  // room for bfloat16 too
          l.convert_bias ? arena.allocate<float>(l.shape.n) : nullptr,
          l.convert_y ? arena.allocate<float>(l.shape.m * l.shape.n) : nullptr};
}

class InPlaceProduct : public PreparedAlgorithm {
 public:
  InPlaceProduct(const KernelCall& c, const InPlace& l) : l_(l) {
    choice = {Algorithm::in_place};
    if (!rounds(c)) return;
    half_ = c.precision == Precision::float16 ? DType::f16 : DType::bf16;
    const auto* weight = c.in[1].data_as<const float>();
    const std::int64_t n = l.shape.n, k = l.shape.k, row = l.shape.w_row;
    const std::string key = fmt::format("{} rows: {} of {}", name_of(half_), n, k);
    if (half_ == DType::f16 && !fits_float16(c, key)) return;
    rounded_ = tiles::packed_weight(c, 1, key, n * k * 2, [=, half = half_](std::byte* to) {
      for (std::int64_t j = 0; j < n; ++j) convert(weight + j * row, DType::f32, to + j * k * 2, half, k);
    });
    l_.shape.w_row = k;
    unread = 1u << 1;
  }

  void reserve(const KernelCall&, ScratchArena& arena) const override { buffers(l_, arena); }

  /// Applies the epilogue, unless the result has a type of its own.
  RemainingWork run(KernelCall& c, ScratchArena& arena, const pointwise::Epilogue* epilogue) const override {
    const LinearBuffers at = buffers(l_, arena);
    const void* x = c.in[0].data;
    if (l_.convert_x) {
      to_dense(planes_without_repeats(c.in[0]), l_.bf16 ? DType::bf16 : DType::f32, at.x);
      x = at.x;
    }
    if (l_.convert_bias) to_dense(c.in[2], DType::f32, at.bias);
    const float* bias = l_.convert_bias ? at.bias : c.has_input(2) ? c.in[2].data_as<const float>() : nullptr;
    float* y = l_.convert_y ? at.y : c.out[0].data_as<float>();
    if (l_.bf16) {
      linear(l_.shape, Bf16Operands{static_cast<const BFloat16*>(x), c.in[1].data_as<const BFloat16>(), bias, y});
    } else {
      const pointwise::BoundEpilogue finish =
          l_.convert_y ? pointwise::BoundEpilogue{} : pointwise::BoundEpilogue{epilogue, &c};
      const bool rounded = rounded_ != nullptr;
      linear(l_.shape, {static_cast<const float*>(x), rounded ? rounded_.get() : c.in[1].data, bias, y, finish,
                        rounded ? half_ : c.in[1].dtype});
    }
    if (l_.convert_y) from_dense(at.y, DType::f32, c.out[0]);
    return !l_.convert_y && !l_.bf16 ? RemainingWork::nothing : RemainingWork::epilogue;
  }

 private:
  /// Few rows take as long as reading the weight: half as many bytes of it, where products may be of bfloat16.
  bool rounds(const KernelCall& c) const {
    return c.precision != Precision::exported && l_.shape.m <= kFewRows && c.in[1].dtype == DType::f32 &&
           c.constant != nullptr && c.constant[1] && c.in[1].data != nullptr && l_.shape.w_row >= l_.shape.k;
  }

  /// True if no element of the weight becomes infinite. A stored weight was checked when it was made.
  bool fits_float16(const KernelCall& c, const std::string& key) const {
    if (c.weights != nullptr) {
      if (!c.weights->packed(1, key).empty()) return true;
      c.weights->fetch(1);
    }
    constexpr float kRoundsToInfinity = 65520;
    const auto* weight = c.in[1].data_as<const float>();
    for (std::int64_t j = 0; j < l_.shape.n; ++j) {
      for (std::int64_t i = 0; i < l_.shape.k; ++i) {
        const float v = weight[j * l_.shape.w_row + i];
        if (std::isfinite(v) && std::abs(v) >= kRoundsToInfinity) return false;
      }
    }
    return true;
  }

  InPlace l_;
  std::shared_ptr<const std::byte> rounded_;  ///< the weight in two bytes
  DType half_ = DType::bf16;
};

}  // namespace

ProductProperties::ProductProperties(const KernelCall& c) : call(c), linear(in_place(c)) {
  const Problem p = describe(c);
  m = p.m;
  n = p.n;
  k = p.k;
  const bool converts = linear && (linear->convert_x || linear->convert_bias || linear->convert_y);
  floats = linear && !converts && c.in[1].dtype == DType::f32;
  float_call = linear && !converts;
}

std::unique_ptr<PreparedAlgorithm> prepare_in_place(const ProductProperties& p) {
  if (!p.linear) return nullptr;
  return std::make_unique<InPlaceProduct>(p.call, *p.linear);
}

}  // namespace tern::cpu
