// _dyn_quant_matmul_4bit: rows quantized to int8 at run time, times a 4-bit weight. Follows PyTorch's reference: the
// packed weight is a float32 list of bytes (two steps each), scales, and the ignored bias. KleidiAI's weights, packed
// on ARM, differ in size; the size tells the formats apart.
#include <fmt/format.h>

#include "exporter/lower/contraction.h"
#include "exporter/lower/quantization.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

Values pack(Builder& b, const Call& c) {
  Values vectors;
  for (const ArgumentName name : {ArgumentName("weights"), ArgumentName("scales_zeros"), ArgumentName("bias")}) {
    if (c.has_argument(name)) vectors.push_back(b.cast(b.flatten(c.tensor(name)), DType::f32));
  }
  return {b.concat(vectors, 0)};
}

struct UnpackedWeight {
  ValueId steps;   ///< int8 [n, k]
  ValueId scales;  ///< float32 [n, k / block]
  ValueId bias;    ///< float32 [n], or kNoValue
};
UnpackedWeight weight(Builder& b, const Call& c) {
  const ValueId packed = c.tensor("packed_weights");
  const std::int64_t k = c.integer("in_features"), n = c.integer("out_features"), block = c.integer("block_size");
  if (k <= 0 || n <= 0 || block <= 0 || k % 2 != 0 || k % block != 0 || k > 1 << 30 || n > 1 << 30) {
    c.unsupported(fmt::format("a weight of {} x {} in blocks of {} is not supported", n, k, block));
  }
  const std::int64_t size = n * k / 2, scales = n * (k / block);
  const Dim numel = b.numel(packed);
  if (b.dtype(packed) != DType::f32 || (!(numel == Dim(size + scales)) && !(numel == Dim(size + scales + n)))) {
    c.unsupported("the weight's packing differs from that of PyTorch's reference");
  }
  const ValueId bytes = b.reshape(b.cast(b.slice(packed, 0, 0, size), DType::u8), {n, k / 2});
  return {b.expr("x - 8", {{"x", unpacked_pairs(b, bytes)}}, DType::i64, DType::i8),
          b.reshape(b.slice(packed, 0, size, scales), {n, k / block}),
          numel == Dim(size + scales) ? kNoValue : b.slice(packed, 0, size + scales, n)};
}

/// Rows of x as int8, with the parameters of x = (q - zero_point) / scale.
struct Int8Rows {
  ValueId q, scale, zero_point;
};
Int8Rows quantized_rows(Builder& b, ValueId x) {
  const ValueId low = b.reduce(x, "min", {-1}, true, b.dtype(x)), high = b.reduce(x, "max", {-1}, true, b.dtype(x));
  const std::vector<ExprArg> range = {{"low", low}, {"high", high}};
  Int8Rows r;
  r.scale = b.expr("l = min(low, 0); h = max(high, 0); l == h ? 1 : 255 / (h - l)", range, DType::f32);
  r.zero_point = b.expr(
      "l = min(low, 0) * s; h = max(high, 0) * s; "
      "round(min(max(-128 + l + (127 + h) > 0 ? -128 - l : 127 - h, -128), 127))",
      {{"low", low}, {"high", high}, {"s", r.scale}}, DType::f32, DType::i32);
  // Halves are rounded away from zero.
  r.q = b.expr("y = x * s; t = trunc(y); min(max((abs(y - t) >= 0.5 ? t + sign(y) : t) + z, -128), 127)",
               {{"x", x}, {"s", r.scale}, {"z", r.zero_point}}, DType::f32, DType::i8);
  return r;
}

/// bfloat16 without rounding: the upper half of the bits.
ValueId truncated(Builder& b, ValueId x) {
  const ValueId bits = b.add(Op::bitcast, {x}, {attr_dtype(DType::i32)});
  const ValueId upper = b.expr("x & -65536", {{"x", bits}}, DType::i32);
  return b.cast(b.add(Op::bitcast, {upper}, {attr_dtype(DType::f32)}), DType::bf16);
}

Values multiply(Builder& b, const Call& c) {
  const ValueId x = c.tensor("inp");
  if (b.rank(x) != 2) c.unsupported("the input must be a matrix");
  const UnpackedWeight w = weight(b, c);
  const Int8Rows rows = quantized_rows(b, x);
  const Dim m = b.size(x, 0), n = b.size(w.steps, 0), k = b.size(x, 1), groups = b.size(w.scales, 1);
  const ExprArg scale = {"scale", rows.scale}, zero_point = {"z", rows.zero_point};
  ValueId y = kNoValue;
  if (groups.is(1)) {
    const ValueId sums = b.reduce(w.steps, "sum", {1}, false, DType::i32);
    const ValueId p = integer_product(b, rows.q, b.transpose(w.steps, 0, 1));
    y = b.expr("float32(int32(p - z * sums)) * w * (1 / scale)",
               {{"p", p}, zero_point, {"sums", sums}, {"w", b.reshape(w.scales, {n})}, scale}, DType::f32);
  } else {
    const Dim width = b.pool().floordiv(k, groups);
    const ValueId steps = b.permute(b.reshape(w.steps, {n, groups, width}), {1, 2, 0});
    const ValueId sums = b.reduce(steps, "sum", {1}, true, DType::i32);
    const ValueId q = b.permute(b.reshape(rows.q, {m, groups, width}), {1, 0, 2});
    const ValueId group_products = b.expr("float32(int32(p - z * sums)) * w",
                                          {{"p", integer_product(b, q, steps)},
                                           zero_point,
                                           {"sums", sums},
                                           {"w", b.unsqueeze(b.transpose(w.scales, 0, 1), 1)}},
                                          DType::f32);
    y = b.expr("y * (1 / scale)", {{"y", b.reduce(group_products, "sum", {0}, false, DType::f32)}, scale}, DType::f32);
  }
  if (w.bias != kNoValue) y = b.expr("y + bias", {{"y", y}, {"bias", w.bias}}, DType::f32);
  return {c.result_dtype() == DType::bf16 ? truncated(b, y) : y};
}

constexpr Lowering kDynamicProductsLowerings[] = {
    {"aten._dyn_quant_pack_4bit_weight.default", pack},
    {"aten._dyn_quant_matmul_4bit.default", multiply},
};

}  // namespace

std::span<const Lowering> dynamic_product_lowerings() {
  return kDynamicProductsLowerings;
}

}  // namespace tern
