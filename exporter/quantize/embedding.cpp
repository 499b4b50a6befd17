#include "exporter/quantize/embedding.h"

namespace tern::quantize {
namespace {

// Codes of four bits in the low and the high half of bytes: as whole numbers, and twice the numbers of float4_e2m1,
// whose magnitudes are 0, 0.5, 1, 1.5, 2, 3, 4 and 6.
constexpr std::string_view kInteger = "c = (x >> h) & 15; (c ^ 8) - 8";
constexpr std::string_view kTwiceE2M1 =
    "c = (x >> h) & 15; m = c & 7; t = m < 4 ? m : m < 6 ? 2 * m - 4 : 4 * m - 16; c > 7 ? 0 - t : t";

}  // namespace

ValueId select_rows(Builder& b, const TensorType& rows, const PlainParts& parts, ValueId index, DType result) {
  const std::int64_t columns = rows.shape.back().value(), block = rows.blocks.columns;
  ValueId elements = b.index_select(parts.elements, index, 0);
  const ValueId scales = b.index_select(parts.scales, index, 0);
  const Dims lead = b.shape(index);
  const auto with = [&](std::initializer_list<std::int64_t> sizes) {
    Dims all = lead;
    for (const std::int64_t s : sizes) all.push_back(s);
    return all;
  };
  double factor = static_cast<double>(parts.outer);
  if (elements_per_byte(rows.dtype) == 2) {
    const bool integer = rows.dtype == DType::i4;
    const ValueId bytes = b.reshape(elements, with({columns / 2, 1}));
    elements = b.expr(integer ? kInteger : kTwiceE2M1, {{"x", bytes}, {"h", b.iota(2, DType::u8, 0, 4)}}, DType::i64,
                      DType::i8);
    if (!integer) factor *= 0.5;
  }
  const bool one = columns == block;  // scale for each row
  if (!one || b.rank(elements) != b.rank(scales))
    elements = b.reshape(elements, one ? with({columns}) : with({columns / block, block}));
  const ValueId numbers =
      b.expr("x * (s * f)", {{"x", elements}, {"s", one ? scales : b.unsqueeze(scales, -1)}, {"f", factor}}, DType::f32,
             result);
  return one ? numbers : b.reshape(numbers, with({columns}));
}

}  // namespace tern::quantize
