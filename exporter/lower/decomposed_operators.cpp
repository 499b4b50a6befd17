// quantized_decomposed: embeddings of packed rows, and sums of quantized tensors, following ExecuTorch.
#include <string>

#include "exporter/lower/indexing.h"
#include "exporter/lower/quantization.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

/// Unpacks a table with `count` steps per byte into int8 values from `lower` up. Two-bit tables hold a byte's first
/// step in the low bits, four-bit tables in the high bits.
ValueId unpacked(Builder& b, ValueId x, std::int64_t count, std::int64_t lower) {
  if (count == 1) return x;
  const std::int64_t bits = 8 / count;
  const ValueId shift =
      count == 2 ? b.iota(2, DType::i64, 4, -4) : b.iota(count, DType::i64, 0, static_cast<double>(bits));
  const ValueId steps = b.expr("(x >> shift & mask) + least",
                               {{"x", b.cast(b.unsqueeze(x, -1), DType::u8)},
                                {"shift", shift},
                                {"mask", static_cast<double>((1 << bits) - 1)},
                                {"least", static_cast<double>(lower)}},
                               DType::i64, DType::i8);
  return b.reshape(steps, {b.size(x, 0), b.pool().mul(b.size(x, 1), count)});
}

template <int kCount, int kLeast>
Values embedding_decomposed(Builder& b, const Call& c) {
  const ValueId table = unpacked(b, c.tensor("weight"), kCount, kLeast), scales = c.tensor("weight_scales");
  const Dim groups = b.rank(scales) == 2 ? b.size(scales, 1) : Dim(1);
  const ValueId rows =
      dequantized_groups(b, c, table, scales, c.tensor_or_none("weight_zero_points"),
                         b.pool().floordiv(b.size(table, 1), groups), c.dtype_or("dtype", b.dtype(scales)));
  return {b.index_select(rows, as_index(b, c.tensor("indices")), 0)};
}

/// Adds (a - zero_point) * scale of both operands, or the number b, and rounds the sum to the result's grid.
Values sum(Builder& b, const Call& c, ArgumentName first, bool relu) {
  std::vector<ExprArg> args = {{"a", c.tensor(first)},
                               {"a_scale", c.number("a_scale")},
                               {"a_zero", c.number("a_zero_point")},
                               {"inverse", 1 / c.number("out_scale")},
                               {"zero", c.number("out_zero_point")},
                               {"least", c.number("out_quant_min")},
                               {"most", c.number("out_quant_max")}};
  std::string text = "y = (a - a_zero) * a_scale + ";
  if (c.is_tensor("b")) {
    args.insert(args.end(),
                {{"b", c.tensor("b")}, {"b_scale", c.number("b_scale")}, {"b_zero", c.number("b_zero_point")}});
    text += "(b - b_zero) * b_scale; ";
  } else {
    args.emplace_back("b", c.number("b"));
    text += "b; ";
  }
  text += relu ? "r = max(y, 0); " : "r = y; ";
  return {b.expr(text + "min(max(round(r * inverse) + zero, least), most)", args, DType::f32, c.result_dtype())};
}
Values add(Builder& b, const Call& c) {
  return sum(b, c, "a", false);
}
Values add_relu(Builder& b, const Call& c) {
  return sum(b, c, "a", true);
}
Values add_number(Builder& b, const Call& c) {
  return sum(b, c, "qa", false);
}

constexpr Lowering kDecomposedOperatorsLowerings[] = {
    {"quantized_decomposed.embedding_byte.default", embedding_decomposed<1, 0>},
    {"quantized_decomposed.embedding_byte.dtype", embedding_decomposed<1, 0>},
    {"quantized_decomposed.embedding_4bit.default", embedding_decomposed<2, -8>},
    {"quantized_decomposed.embedding_4bit.dtype", embedding_decomposed<2, -8>},
    {"quantized_decomposed.embedding_2bit.default", embedding_decomposed<4, -2>},
    {"quantized_decomposed.embedding_2bit.dtype", embedding_decomposed<4, -2>},
    {"quantized_decomposed.add.default", add},
    {"quantized_decomposed.add.scalar", add_number},
    {"quantized_decomposed.add_relu.default", add_relu},
};

}  // namespace

std::span<const Lowering> decomposed_operator_lowerings() {
  return kDecomposedOperatorsLowerings;
}

}  // namespace tern
