// Products with packed integer weights: the packing becomes views and bit operations, folded into constants.
#include <fmt/format.h>

#include "exporter/lower/contraction.h"
#include "exporter/lower/quantization.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

/// Splits each byte into halves on a new last axis, the low half first.
ValueId nibbles(Builder& b, ValueId x) {
  return b.expr("(x >> shift) & 15", {{"x", b.unsqueeze(x, -1)}, {"shift", b.iota(2, DType::u8, 0, 4)}}, DType::i64,
                DType::u8);
}
/// Pairs on the last axis as bytes.
ValueId bytes(Builder& b, ValueId x) {
  return b.expr("low & 15 | (high & 15) << 4", {{"low", b.select(x, -1, 0)}, {"high", b.select(x, -1, 1)}}, DType::i64,
                DType::u8);
}

/// Bounded size: products of two sizes do not overflow.
std::int64_t constant_size(Builder& b, const Call& c, ValueId x, std::int64_t axis) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  const Dim d = b.size(x, axis);
  if (!d.is_const() || d.value() > kMost) c.unsupported("the packed weight has a symbolic or too large size");
  return d.value();
}

// How _convert_weight_to_int4pack_for_cpu packs a weight [n, k] depends on the instruction set of the machine that runs
// it. This is the order of AVX-512: of each 64 rows, for each column 32 bytes; byte 16 g + d holds the rows 16 g + d
// (low) and 32 + 16 g + d (high). The last n % 64 rows have for each column the bytes of neighbouring pairs. AVX2 and
// machines without either order blocks of 32 rows otherwise, and the bytes do not tell which it was: weights that were
// packed there come out wrong from 32 rows on.
constexpr std::int64_t kPackedProductsRows = 64, kLanes = 16;

ValueId unpacked_rows(Builder& b, const Call& c, ValueId packed) {
  const std::int64_t n = constant_size(b, c, packed, 0), k = 2 * constant_size(b, c, packed, 1);
  if (n % kLanes != 0) c.unsupported(fmt::format("a packed weight of {} rows is not supported", n));
  const std::int64_t blocks = n / kPackedProductsRows, remaining = n % kPackedProductsRows;
  const ValueId flat = b.flatten(packed);
  Values column_blocks;
  if (blocks > 0) {
    const ValueId slice = b.reshape(b.slice(flat, 0, 0, blocks * kPackedProductsRows * k / 2), {blocks, k, 2, kLanes});
    column_blocks.push_back(
        b.reshape(b.permute(nibbles(b, slice), {0, 4, 2, 3, 1}), {blocks * kPackedProductsRows, k}));
  }
  if (remaining > 0) {
    const ValueId slice =
        b.reshape(b.slice(flat, 0, blocks * kPackedProductsRows * k / 2, remaining * k / 2), {k, remaining / 2});
    column_blocks.push_back(b.transpose(b.reshape(nibbles(b, slice), {k, remaining}), 0, 1));
  }
  if (column_blocks.empty()) return b.full({0, k}, 0, DType::u8);
  return b.concat(column_blocks, 0);
}

Values pack_rows(Builder& b, const Call& c) {
  const ValueId weight = c.tensor("self");
  const std::int64_t n = constant_size(b, c, weight, 0), k = constant_size(b, c, weight, 1);
  if (n % kLanes != 0 || k % 2 != 0)
    c.unsupported(fmt::format("a weight of {} rows and {} columns cannot be packed", n, k));
  const std::int64_t blocks = n / kPackedProductsRows, remaining = n % kPackedProductsRows;
  Values column_blocks;
  if (blocks > 0) {
    const ValueId slice = b.reshape(b.slice(weight, 0, 0, blocks * kPackedProductsRows), {blocks, 2, 2, kLanes, k});
    column_blocks.push_back(b.flatten(bytes(b, b.permute(slice, {0, 4, 2, 3, 1}))));
  }
  if (remaining > 0) {
    const ValueId slice = b.transpose(b.slice(weight, 0, blocks * kPackedProductsRows, remaining), 0, 1);
    column_blocks.push_back(b.flatten(bytes(b, b.reshape(slice, {k, remaining / 2, 2}))));
  }
  if (column_blocks.empty()) return {b.full({0, k / 2}, 0, DType::u8)};
  return {b.reshape(b.concat(column_blocks, 0), {n, k / 2})};
}

// Weight [n, k] for tensor cores (m16n8k16) as int32 [n / 8, k / (16 t), 32, t / 2]: lane 4 r + q of a tile of 8 rows
// has row r; a word holds two tiles of 16 columns. Its bits, from the lowest, hold the even, then the odd columns;
// within each parity the two tiles; within each tile the columns 2 q and 2 q + 8.
ValueId unpacked_tiles(Builder& b, const Call& c, ValueId packed) {
  if (b.rank(packed) != 4) c.unsupported("the packed weight must have four axes");
  const std::int64_t rows = constant_size(b, c, packed, 0), outer = constant_size(b, c, packed, 1),
                     lanes = constant_size(b, c, packed, 2), inner = constant_size(b, c, packed, 3);
  if (lanes != 32) c.unsupported(fmt::format("a packed weight for {} lanes is not supported", lanes));
  const ValueId words =
      b.expr("(x >> shift) & 15", {{"x", b.unsqueeze(packed, -1)}, {"shift", b.iota(8, DType::u8, 0, 4)}}, DType::i64,
             DType::u8);
  const ValueId split = b.reshape(words, {rows, outer, 8, 4, inner, 2, 2, 2});
  return b.reshape(b.permute(split, {0, 2, 1, 4, 6, 7, 3, 5}), {rows * 8, b.pool().mul(outer * inner, 32)});
}

/// x times the weight of `q` [n, k], steps from 0 to 15: (q - 8) * scale + zero. [k / group, n, 2] holds scale and zero
/// for each group along k and each row. The weight is rounded to `t`.
Values int4_product(Builder& b, const Call& c, ValueId q, DType t) {
  const ValueId x = c.tensor("self"), parameters = c.tensor("qScaleAndZeros");
  const BlockAxes g = blocks_of(b, c, q, {1, c.dim("qGroupSize")});
  const auto parameter = [&](std::int64_t i) {
    return b.reshape(b.transpose(b.select(parameters, 2, i), 0, 1), g.shared);
  };
  const ValueId weight =
      b.expr("(q - 8) * scale + zero", {{"q", b.reshape(q, g.split)}, {"scale", parameter(0)}, {"zero", parameter(1)}},
             DType::f32, t);
  return {product(b, b.cast(x, t), b.transpose(b.reshape(weight, b.shape(q)), 0, 1), c.result_dtype())};
}

Values int4_rows(Builder& b, const Call& c) {
  return int4_product(b, c, unpacked_rows(b, c, c.tensor("mat2")), DType::f32);
}
/// CUDA's product rounds weights to bfloat16.
Values int4_tiles(Builder& b, const Call& c) {
  return int4_product(b, c, unpacked_tiles(b, c, c.tensor("mat2")), DType::bf16);
}

/// Scales of rows of the weight.
Values int8_rows(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const ValueId weight = b.transpose(b.cast(c.tensor("mat2"), b.dtype(x)), 0, 1);
  const ValueId p = product(b, x, weight, DType::f32);
  return {b.expr("p * scale", {{"p", p}, {"scale", c.tensor("scales")}}, DType::f32, c.result_dtype())};
}

/// int8 and uint8 in any mix; sums in int32.
Values int_mm(Builder& b, const Call& c) {
  return {integer_product(b, c.tensor("self"), c.tensor("mat2"))};
}

constexpr Lowering kPackedProductsLowerings[] = {
    {"aten._int_mm.default", int_mm},
    {"aten._weight_int8pack_mm.default", int8_rows},
    {"aten._weight_int4pack_mm_for_cpu.default", int4_rows},
    {"aten._weight_int4pack_mm.default", int4_tiles},
    {"aten._convert_weight_to_int4pack_for_cpu.default", pack_rows},
};

}  // namespace

ValueId integer_product(Builder& b, ValueId x, ValueId y) {
  return product(b, x, y, DType::i32);
}

ValueId unpacked_pairs(Builder& b, ValueId x) {
  const Dim rows = b.size(x, 0), columns = b.pool().mul(b.size(x, 1), 2);
  return b.reshape(nibbles(b, x), {rows, columns});
}

std::span<const Lowering> packed_product_lowerings() {
  return kPackedProductsLowerings;
}

}  // namespace tern
