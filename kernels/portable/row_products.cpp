#include "kernels/portable/row_products.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string>

#include "kernels/portable/quantized.h"
#include "kernels/quantized_view.h"

namespace tern::portable {
namespace {

constexpr std::int64_t kRowProductsItems = 128, kRowProductsLanes = 32;  // items of a group; lanes of a column
constexpr std::int64_t kWordBytes = 4, kPieceBytes = 16;
constexpr std::int64_t kMostLoads = 8;          // loads of 16 bytes in flight per item
constexpr std::int64_t kManyColumns = 1 << 13;  // enough columns to fill a large device with two columns per item

/// Rows and columns of an item: decoded values and loaded rows are reused for this number of sums.
struct ItemBlock {
  std::int64_t rows, columns;
};

ItemBlock share_of(std::int64_t rows, std::int64_t columns) {
  const std::int64_t own =
      std::min<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(rows, 1))), kMostFewRows);
  if (own == 1) return {1, columns >= kManyColumns ? 2 : 1};
  return {own, own == kMostFewRows ? 4 : 2};
}

/// Words of 32 bits loaded together by an item, and the number decoded together; no words if elements are read one by
/// one.
struct Words {
  std::int64_t count = 0, words_per_load = 1, elements = 0;  ///< elements of a word
};

bool is_usual_float(DType t) {
  return t == DType::f32 || t == DType::f16 || t == DType::bf16;
}

/// `elements`: those of a word; `block`: elements of the matrix sharing a scale, 0: all; `row_bytes`: distance of
/// columns.
Words words_of(const ProductOperand& rows, std::int64_t elements, std::int64_t block, std::int64_t row_bytes) {
  const DType a = rows.planes.dtype;
  if (rows.depth_step != 1 || !is_usual_float(a)) return {};
  for (std::int64_t count : {4, 2, 1}) {
    const std::int64_t each = count * elements, bytes = each * element_size(a);
    if (bytes < kPieceBytes || (block != 0 && block % each != 0) || row_bytes % (count * kWordBytes) != 0) continue;
    return {count, std::max<std::int64_t>(1, kPieceBytes / (elements * element_size(a))), elements};
  }
  return {};
}

/// Element j of the word w, as float. Small integers become the low bits of a float with known high bits.
std::string element(DType t, int bits) {
  if (bits == 4) return "(tern_f32_of(((w) >> (4 * (j)) & 15u) ^ 0x4b000000u) - 8388608.0f)";
  switch (t) {
    case DType::f32: return "tern_f32_of(w)";
    case DType::f16:
    case DType::bf16: return converted(t, DType::f32, "(tern_u16)((w) >> (16 * (j)) & 0xffffu)");
    case DType::i4: return "(tern_f32_of(((w) >> (4 * (j)) & 15u) ^ 0x4b000008u) - 8388616.0f)";
    case DType::i2: return "(tern_f32_of(((w) >> (2 * (j)) & 3u) ^ 0x4b000002u) - 8388610.0f)";
    case DType::i8: return "(tern_f32_of(((w) >> (8 * (j)) & 255u) ^ 0x4b000080u) - 8388736.0f)";
    case DType::u8: return "(tern_f32_of(((w) >> (8 * (j)) & 255u) ^ 0x4b000000u) - 8388608.0f)";
    case DType::f4_e2m1: return "tern_f4_e2m1_to_f32((tern_u8)((w) >> (4 * (j)) & 15u))";
    default: return converted(t, DType::f32, "(tern_u8)((w) >> (8 * (j)) & 255u)");
  }
}

/// Common declarations of both kinds, before the result's declaration.
void declare_items(Launch& k, const ProductOperand& a, DType b, int bits, const Words& words, const ItemBlock& share) {
  const std::int64_t each = words.count * words.elements;
  k.source.define("ITEMS", kRowProductsItems);
  k.source.define("LANES", kRowProductsLanes);
  k.source.define("ROWS", share.rows);
  k.source.define("COLUMNS", share.columns);
  k.source.define("WORDS", words.count);
  k.source.define("A_BYTES", element_size(a.planes.dtype));
  k.source.define("A_DEPTH", step_of(a.depth_step, "a_depth"));
  k.type("A_T", a.planes.dtype);
  k.load("LOAD_A", a.planes.dtype, DType::f32);
  if (words.count == 0) return;
  k.source.define("AT_ONCE", words.words_per_load);
  k.source.define("EACH", each);
  k.source.define("ELEMENT(w, j)", element(b, bits));
  k.source.define("WIDEN_A(x)", converted(a.planes.dtype, DType::f32, "x"));
  // Loads the whole column together if possible, else in equal rounds.
  const std::int64_t most = std::max<std::int64_t>(
                         1, (share.rows == 1 ? kMostLoads : kMostLoads / 2) / share.columns * 4 / words.count),
                     loads = std::max<std::int64_t>(
                         1, (a.depth + each * kRowProductsLanes - 1) / (each * kRowProductsLanes)),
                     rounds = (loads + most - 1) / most;
  k.source.define("LOADS", (loads + rounds - 1) / rounds);
}

void add(const KernelCall& c, Launches& list, Launch k, const ProductOperand& a, std::int64_t columns,
         const ItemBlock& share) {
  const std::int64_t of_group = kRowProductsItems / kRowProductsLanes * share.columns,
                     panels = (columns + of_group - 1) / of_group,
                     row_blocks = (a.length + share.rows - 1) / share.rows,
                     planes = c.out[0].numel() / std::max<std::int64_t>(1, a.length * columns);
  k.source.define("ONE_PANEL", planes == 1 && row_blocks == 1 ? 1 : 0);
  k.parameter("rows", a.length);
  k.parameter("columns", columns);
  k.parameter("depth", a.depth);
  k.parameter("a_row", a.step);
  k.parameter("a_depth", a.depth_step);
  k.parameter("panels", panels);
  k.parameter("row_blocks", row_blocks);
  list.add(std::move(k), planes * row_blocks * panels * kRowProductsItems, kRowProductsItems);
}

}  // namespace

void add_row_product(const KernelCall& c, Launches& list, const ProductOperand& a, const ProductOperand& b,
                     const TensorView* bias) {
  const DType type = b.planes.dtype;
  const Words words = is_usual_float(type) ? words_of(a, kWordBytes / element_size(type), 0, 0) : Words{};
  const ItemBlock share = share_of(a.length, b.length);
  Launch k("product_row");
  declare_items(k, a, type, 0, words, share);
  k.source.define("SCALED", 0);
  k.source.define("ZEROS", 0);
  k.type("B_T", type);
  declare_result(k, c, bias, DType::f32);
  declare_operand(k, "a", a);
  declare_operand(k, "b", b);
  k.load("LOAD_B", type, DType::f32);
  k.source.define("COLUMN_AT(c)", "(b + at_b(plane, &p) + column[c] * p.b_column)");
  k.source.define("COLUMN(c)", "((TERN_GLOBAL const tern_u8*)COLUMN_AT(c))");
  k.source.define("LAST_B(c, k)", "LOAD_B(COLUMN_AT(c), k)");
  k.parameter("b_column", b.step);
  add(c, list, std::move(k), a, b.length, share);
}

void add_quantized_row_product(const KernelCall& c, Launches& list, const ProductOperand& a, const ProductOperand& b,
                               const TensorView* bias) {
  const QuantizedMatrix m = quantized_matrix(c.in[1]);
  // Planes of bits are read one by one.
  const bool one_by_one = m.blocks.sparse() || m.blocks.planes() > 0;
  const Words words = one_by_one ? Words{} : words_of(a, kWordBytes * m.together(), m.blocks.columns, m.row_bytes());
  const ItemBlock share = share_of(a.length, b.length);
  Launch k("product_row");
  declare_items(k, a, m.element, m.blocks.bits, words, share);
  k.source.define("SCALED", 1);
  k.source.define("ZEROS", m.blocks.zero_point == ZeroPoint::none ? 0 : 1);
  declare_result(k, c, bias, DType::f32);
  declare_operand(k, "a", a);
  declare_quantized(k, "b", 1, m);
  k.source.view("b", b.planes);
  k.source.define("COLUMN_ROW(c)", "(at_b(plane, &p) * p.columns + column[c])");
  k.source.define("COLUMN(c)", "(b + COLUMN_ROW(c) * p.b_row_bytes)");
  k.source.define("LAST_B(c, k)", "B(COLUMN_ROW(c), k)");
  k.parameter("b_row_bytes", m.row_bytes());
  add(c, list, std::move(k), a, b.length, share);
}

}  // namespace tern::portable
