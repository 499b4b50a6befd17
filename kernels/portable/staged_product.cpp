#include "kernels/portable/staged_product.h"

#include <algorithm>

#include "kernels/portable/axes.h"
#include "kernels/portable/product_tiles.h"
#include "kernels/portable/staged_matrix.h"

namespace tern::portable {
namespace {

constexpr std::int64_t kLeastWork = std::int64_t{1} << 15;      // products that are worth more launches
constexpr std::int64_t kMostFewRows = 8;                        // items of those share a column
constexpr std::uint64_t kMostStaged = std::uint64_t{32} << 20;  // bytes of a weight, which the L2 of a large GPU holds
constexpr std::int64_t kColumns = 64;                           // that a piece is a multiple of

bool is_16_bits(DType t) {
  return t == DType::f16 || t == DType::bf16;
}

/// Dialects of the vendors whose libraries multiply.
bool may_have_library(const Target& target) {
  return target.groups && (target.dialect == Dialect::cuda || target.dialect == Dialect::hip);
}

/// What both operands are multiplied in: 16 bits where the rows have them or may be rounded to them, and matrix units
/// take them.
DType product_type(const KernelCall& c, const Target& target, DType rows, DType weight) {
  DType t = rows;
  if (rows == DType::f32 && c.precision == Precision::bfloat16) t = DType::bf16;
  return has_units(target, t, t) ? t : DType::f32;
}

bool is_staged(const KernelCall& c, const Target& target, const ProductOperand& a) {
  const DType rows = a.planes.dtype, weight = c.in[1].dtype;
  if (!target.groups || a.length <= kMostFewRows || c.out[0].numel() * a.depth < kLeastWork) return false;
  if (rows != DType::f32 && !is_16_bits(rows)) return false;
  if (c.in[1].blocks.columns != 0) return true;
  return rows == DType::f32 && is_16_bits(weight) && may_have_library(target);
}

}  // namespace

bool add_staged_product(const KernelCall& c, LibraryLaunches& list, const ProductOperand& a, const ProductOperand& b) {
  const Target& target = list.target();
  if (!is_staged(c, target, a)) return false;
  const bool quantized = c.in[1].blocks.columns != 0;
  const DType t = product_type(c, target, a.planes.dtype, c.in[1].dtype);
  const TensorView whole = c.has(2) ? broadcast(c.in[2], c.out[0]) : TensorView{};
  const TensorView* const bias = c.has(2) ? &whole : nullptr;
  ProductOperand rows = a;
  if (a.planes.dtype != t && t != DType::f32)
    rows = stage(list, a, 0, a.length, t, list.scratch(staged_bytes(a, a.length, t)));
  const auto bytes = [&](std::int64_t columns) {
    return quantized ? staged_quantized_bytes(c.in[1], columns, t) : staged_bytes(b, columns, t);
  };
  const bool staged = quantized || b.planes.dtype != t;
  // Pieces of about the same size.
  const std::uint64_t all = staged ? bytes(b.length) : 0;
  const auto pieces = static_cast<std::int64_t>(std::max<std::uint64_t>(1, (all + kMostStaged - 1) / kMostStaged));
  const std::int64_t each =
      pieces == 1 ? b.length : ((b.length + pieces - 1) / pieces + kColumns - 1) / kColumns * kColumns;
  const std::uint64_t scratch = staged ? list.scratch(bytes(std::min(each, b.length))) : 0;
  for (std::int64_t first = 0; first < b.length; first += each) {
    const std::int64_t count = std::min(each, b.length - first);
    ProductOperand columns = b;
    if (quantized) {
      columns = stage_quantized(list, c.in[1], b, first, count, t, scratch);
    } else if (staged) {
      columns = stage(list, b, first, count, t, scratch);
    }
    const ResultColumns part{first, b.length};
    if (!list.add_own_product(c, rows, columns, part))
      add_product(c, list, rows, columns, bias, true, nullptr, count == b.length ? nullptr : &part);
  }
  list.complete();
  return true;
}

}  // namespace tern::portable
