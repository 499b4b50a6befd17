#include "kernels/portable/staged_product.h"

#include <algorithm>

#include "kernels/portable/axes.h"
#include "kernels/portable/product_tiles.h"
#include "kernels/portable/row_products.h"
#include "kernels/portable/staged_matrix.h"

namespace tern::portable {
namespace {

constexpr std::int64_t kStagedProductLeastWork = std::int64_t{1}
                                                 << 15;         // smallest number of products worth additional launches
constexpr std::uint64_t kMostStaged = std::uint64_t{32} << 20;  // bytes of a weight fitting in the L2 cache of a large
                                                                // GPU
constexpr std::int64_t kStagedProductColumns = 64;              // a piece is a multiple of this number of columns

bool is_16_bits(DType t) {
  return t == DType::f16 || t == DType::bf16;
}

/// True for dialects of vendors with a library for products.
bool may_have_library(const Target& target) {
  return target.groups && (target.dialect == Dialect::cuda || target.dialect == Dialect::hip);
}

bool is_staged(const KernelCall& c, const Target& target, const ProductOperand& a) {
  const DType rows = a.planes.dtype, weight = c.in[1].dtype;
  if (!target.groups || a.length <= kMostFewRows || c.out[0].numel() * a.depth < kStagedProductLeastWork) return false;
  if (rows != DType::f32 && !is_16_bits(rows)) return false;
  if (c.in[1].blocks.columns != 0) return true;
  return rows == DType::f32 && is_16_bits(weight) && may_have_library(target);
}

}  // namespace

DType product_type(const KernelCall& c, const Target& target, DType rows) {
  DType t = rows;
  if (rows == DType::f32 && c.precision == Precision::bfloat16) t = DType::bf16;
  return has_units(target, t, t) ? t : DType::f32;
}

ProductOperand rows_of_type(const KernelCall& c, Launches& list, const ProductOperand& a, DType t) {
  if (a.planes.dtype == t) return a;
  const std::uint64_t bytes = staged_lines(c.in[0], a, a.length).bytes(t);
  return stage(list, c.in[0], a, 0, a.length, t, list.scratch(bytes));
}

bool add_staged_product(const KernelCall& c, LibraryLaunches& list, const ProductOperand& a, const ProductOperand& b) {
  const Target& target = list.target();
  if (!is_staged(c, target, a)) return false;
  const DType t = product_type(c, target, a.planes.dtype);
  const TensorView whole = c.has_input(2) ? broadcast(c.in[2], c.out[0]) : TensorView{};
  const TensorView* const bias = c.has_input(2) ? &whole : nullptr;
  const ProductOperand rows = t == DType::f32 ? a : rows_of_type(c, list, a, t);
  const bool staged = c.in[1].blocks.columns != 0 || b.planes.dtype != t;
  const std::uint64_t all = staged ? staged_lines(c.in[1], b, b.length).bytes(t) : 0;
  // Pieces of about equal size.
  const auto pieces = static_cast<std::int64_t>((all + kMostStaged - 1) / kMostStaged);
  std::int64_t each = b.length;
  if (pieces > 1)
    each =
        ((b.length + pieces - 1) / pieces + kStagedProductColumns - 1) / kStagedProductColumns * kStagedProductColumns;
  const std::uint64_t scratch = staged ? list.scratch(staged_lines(c.in[1], b, each).bytes(t)) : 0;
  for (std::int64_t first = 0; first < b.length; first += each) {
    const ResultColumns part{first, b.length};
    ProductOperand columns = b;
    if (staged) columns = stage(list, c.in[1], b, first, std::min(each, b.length - first), t, scratch);
    if (!list.add_own_product(c, rows, columns, part)) add_product(c, list, rows, columns, bias, true, nullptr, &part);
  }
  list.complete();
  return true;
}

}  // namespace tern::portable
