// Products with 2:4 sparse matrices as CUTLASS keeps them: of four elements two, and words that say which.
#include <fmt/format.h>

#include "exporter/lower/contraction.h"
#include "exporter/lower/quantization.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

/// The words [m, c] in the order of the rows, out of CUTLASS's: columns in interleaved pairs, the blocks of 2 x 2 in
/// them transposed, and the rows of each group of 8 * `stride` with those first that are `stride` apart.
ValueId ordered_words(Builder& b, ValueId words, std::int64_t m, std::int64_t c, std::int64_t stride) {
  const ValueId blocks = b.permute(b.reshape(words, {c / 2, m / 2, 2, 2}), {1, 3, 0, 2});
  const ValueId rows = b.reshape(blocks, {m / (8 * stride), 8, stride, c});
  return b.reshape(b.permute(rows, {0, 2, 1, 3}), {m, c});
}

/// The whole matrix. A word has two bits for each kept element: its place among four. float32 is kept as pairs of
/// halves, so that one of two elements remains, at the place 0 or 2.
ValueId dense(Builder& b, const Call& c, ValueId kept, ValueId words) {
  const DType t = b.dtype(kept), word = b.dtype(words);
  const bool single = t == DType::f32;
  const std::int64_t bits = word == DType::i16 ? 16 : 32, stride = word == DType::i16 ? 4 : 2;
  if ((word != DType::i16 && word != DType::i32) || b.rank(kept) != 2 || b.rank(words) != 2) {
    c.unsupported("metadata other than a matrix of int16 or int32");
  }
  for (const ValueId v : {kept, words}) {
    for (const Dim d : b.shape(v)) {
      if (!d.is_const() || d.value() > 1 << 30) c.unsupported("a sparse matrix of symbolic or huge size");
    }
  }
  const std::int64_t m = b.size(kept, 0).value(), k = b.size(kept, 1).value(), columns = b.size(words, 1).value();
  const std::int64_t fours = single ? k : k / 2;
  if (b.size(words, 0).value() != m || m % (8 * stride) != 0 || columns % 2 != 0 || fours * 4 != columns * bits ||
      (!single && k % 2 != 0)) {
    c.unsupported(fmt::format("metadata of {} columns for a sparse matrix of {} x {}", columns, m, k));
  }
  const ValueId places = b.expr("(w >> shift) & 3",
                                {{"w", b.unsqueeze(ordered_words(b, words, m, columns, stride), -1)},
                                 {"shift", b.iota(bits / 2, DType::i64, 0, 2)}},
                                DType::i64, DType::u8);
  const ValueId pairs = b.reshape(places, {m, fours, 2});
  const auto part = [&](ValueId v, std::int64_t i) { return b.slice(v, 2, i, 1); };
  if (single) {
    const ValueId x =
        b.expr("place == at ? x : 0",
               {{"place", part(pairs, 0)}, {"at", b.iota(2, DType::u8, 0, 2)}, {"x", b.unsqueeze(kept, 2)}}, t);
    return b.reshape(x, {m, 2 * k});
  }
  const ValueId values = b.reshape(kept, {m, fours, 2});
  const ValueId x = b.expr("first == at ? x : second == at ? y : 0",
                           {{"first", part(pairs, 0)},
                            {"second", part(pairs, 1)},
                            {"at", b.iota(4, DType::u8)},
                            {"x", part(values, 0)},
                            {"y", part(values, 1)}},
                           t);
  return b.reshape(x, {m, 2 * k});
}

Values linear(Builder& b, const Call& c) {
  const ValueId weight = dense(b, c, c.tensor("weight"), c.tensor("meta")), bias = c.tensor_or_none("bias");
  // torch.export cannot write an activation: its shape function lacks the argument.
  if (const std::string a = c.text_or("activation", ""); !a.empty()) c.unsupported("the activation '" + a + "'");
  return {product(b, c.tensor("input"), b.transpose(weight, 0, 1), c.result_dtype(), bias)};
}

Values mm(Builder& b, const Call& c) {
  return {product(b, dense(b, c, c.tensor("mat1"), c.tensor("mat1_meta")), c.tensor("mat2"), c.result_dtype())};
}

/// The bias belongs to the rows.
Values addmm(Builder& b, const Call& c) {
  const DType t = c.result_dtype(), wide = compute_type(t);
  const ValueId p =
      product(b, dense(b, c, c.tensor("mat1"), c.tensor("mat1_meta")), c.tensor("mat2"), is_floating(t) ? wide : t);
  return {b.expr("alpha * p + beta * bias",
                 {{"p", p},
                  {"bias", b.unsqueeze(c.tensor("input"), 1)},
                  {"alpha", scalar_or(c, "alpha", 1.0)},
                  {"beta", scalar_or(c, "beta", 1.0)}},
                 wide, t)};
}

constexpr Lowering kTable[] = {
    {"aten._sparse_semi_structured_linear.default", linear},
    {"aten._sparse_semi_structured_mm.default", mm},
    {"aten._sparse_semi_structured_addmm.default", addmm},
};

}  // namespace

std::span<const Lowering> semi_structured_lowerings() {
  return kTable;
}

}  // namespace tern
