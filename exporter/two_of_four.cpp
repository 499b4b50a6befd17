#include "exporter/two_of_four.h"

#include <fmt/format.h>
#include <tern/error.h>

namespace tern {
namespace {

/// Reorders CUTLASS's words into [m, c] row order. CUTLASS interleaves pairs of columns, transposes their 2 x 2 blocks,
/// and orders each group of 8 * `stride` rows with rows `stride` apart adjacent.
ValueId ordered_words(Builder& b, ValueId words, std::int64_t m, std::int64_t c, std::int64_t stride) {
  const ValueId blocks = b.permute(b.reshape(words, {c / 2, m / 2, 2, 2}), {1, 3, 0, 2});
  const ValueId rows = b.reshape(blocks, {m / (8 * stride), 8, stride, c});
  return b.reshape(b.permute(rows, {0, 2, 1, 3}), {m, c});
}

[[noreturn]] void refuse_sparsity(const std::string& what) {
  fail(ErrorCode::unsupported, "a 2:4 sparse matrix: " + what);
}

}  // namespace

// A word has two bits for each stored element: its position among four. float32 is stored as pairs of halves: one of
// two elements remains, at position 0 or 2.
ValueId dense_of_two_in_four(Builder& b, ValueId nonzeros, ValueId words) {
  const DType t = b.dtype(nonzeros), word = b.dtype(words);
  const bool single = t == DType::f32;
  const std::int64_t bits = word == DType::i16 ? 16 : 32, stride = word == DType::i16 ? 4 : 2;
  if ((word != DType::i16 && word != DType::i32) || b.rank(nonzeros) != 2 || b.rank(words) != 2) {
    refuse_sparsity("the metadata must be a matrix of int16 or int32");
  }
  for (const ValueId v : {nonzeros, words}) {
    for (const Dim d : b.shape(v)) {
      if (!d.is_const() || d.value() > 1 << 30) refuse_sparsity("a size is symbolic or too large");
    }
  }
  const std::int64_t m = b.size(nonzeros, 0).value(), k = b.size(nonzeros, 1).value(),
                     columns = b.size(words, 1).value();
  const std::int64_t fours = single ? k : k / 2;
  if (b.size(words, 0).value() != m || m % (8 * stride) != 0 || columns % 2 != 0 || fours * 4 != columns * bits ||
      (!single && k % 2 != 0)) {
    refuse_sparsity(fmt::format("metadata of {} columns do not fit {} x {} kept elements", columns, m, k));
  }
  const ValueId positions = b.expr("(w >> shift) & 3",
                                   {{"w", b.unsqueeze(ordered_words(b, words, m, columns, stride), -1)},
                                    {"shift", b.iota(bits / 2, DType::i64, 0, 2)}},
                                   DType::i64, DType::u8);
  const ValueId pairs = b.reshape(positions, {m, fours, 2});
  const auto slice = [&](ValueId v, std::int64_t i) { return b.slice(v, 2, i, 1); };
  if (single) {
    const ValueId x =
        b.expr("place == at ? x : 0",
               {{"place", slice(pairs, 0)}, {"at", b.iota(2, DType::u8, 0, 2)}, {"x", b.unsqueeze(nonzeros, 2)}}, t);
    return b.reshape(x, {m, 2 * k});
  }
  const ValueId values = b.reshape(nonzeros, {m, fours, 2});
  const ValueId x = b.expr("first == at ? x : second == at ? y : 0",
                           {{"first", slice(pairs, 0)},
                            {"second", slice(pairs, 1)},
                            {"at", b.iota(4, DType::u8)},
                            {"x", slice(values, 0)},
                            {"y", slice(values, 1)}},
                           t);
  return b.reshape(x, {m, 2 * k});
}

}  // namespace tern
