#include "kernels/portable/sparse_product.h"

#include "kernels/portable/axes.h"
#include "kernels/portable/product_tiles.h"
#include "kernels/portable/staged_product.h"
#include "kernels/quantized_view.h"

namespace tern::portable {
namespace {

/// Rows from which a vendor's product of the expanded weight is faster than Tern's sparse one: an estimate for an H100,
/// whose libraries use wgmma.
constexpr std::int64_t kMostRowsBesideLibrary = 1024;

bool is_constant(const KernelCall& c) {
  return c.constant != nullptr && c.constant[1] && c.in[1].data != nullptr;
}

bool has_ascending_places(const KernelCall& c, const QuantizedMatrix& m) {
  Launches once(c);
  std::int64_t ascending = 1;
  TensorView result;
  result.data = once.table_data(once.table(std::as_bytes(std::span(&ascending, 1))));
  Launch k("places_ascend");
  k.input("x", 1, DType::u8);
  k.output("ascending", 0, DType::i64);
  const std::int64_t count = m.rows * m.place_row_bytes();
  k.parameter("count", count);
  k.parameter("places", m.place_offset());
  once.add(std::move(k), count);
  KernelCall call = c;
  call.out = {&result, 1};
  once.run(call);
  c.launcher->download(&ascending, result.data, sizeof ascending);
  return ascending != 0;
}

/// Numbers of matrices as positions of matrices with `size` elements.
TensorView spread(TensorView planes, std::int64_t size) {
  for (std::int64_t& stride : planes.strides) stride *= size;
  return planes;
}

bool has_library(const KernelCall& c, const ProductOperand& rows, const ProductOperand& weight, DType t) {
  ProductOperand expanded = weight;
  expanded.planes = spread(weight.planes, weight.length * weight.depth);
  expanded.planes.dtype = t;
  expanded.scratch = 0;
  return LibraryLaunches(c).add_own_product(c, rows, expanded, {0, weight.length});
}

}  // namespace

bool add_sparse_product(const KernelCall& c, LibraryLaunches& list, const ProductOperand& a, const ProductOperand& b) {
  const Target& target = list.target();
  if (!target.sparse || !c.in[1].blocks.sparse() || c.out[0].numel() == 0 || a.depth == 0) return false;
  const DType t = product_type(c, target, a.planes.dtype);
  const QuantizedMatrix m = quantized_matrix(c.in[1]);
  if (t != m.element || !has_units(target, t, t) || !is_constant(c)) return false;
  if (a.length > kMostRowsBesideLibrary && has_library(c, a, b, t)) return false;
  if (!has_ascending_places(c, m)) return false;
  const ProductOperand rows = rows_of_type(c, list, a, t);
  const TensorView bias = c.has_input(2) ? broadcast(c.in[2], c.out[0]) : TensorView{};
  const ProductSize size{b.length, a.length, a.depth, a.planes.numel()};
  const ProductTile tile = sparse_tile(size);
  Launch k("product_units");
  tile.declare(k.source, true, false, true, true);
  k.source.define("CONVOLUTION", 0);
  declare_result(k, c, c.has_input(2) ? &bias : nullptr, DType::f32);
  const std::int64_t kept = b.depth / m.blocks.columns * m.blocks.kept;
  ProductOperand weight = b;
  weight.planes = spread(b.planes, b.length * kept);
  weight.planes.dtype = t;
  declare_operand(k, "a", weight);
  declare_operand(k, "b", rows);
  k.source.view("places", spread(b.planes, b.length * m.place_row_bytes()));
  k.source.add_library("matrix_units:" + type_name(t));
  k.source.add_library("sparse_units");
  k.source.define("A_NEAR", "1");
  k.source.define("B_NEAR", step_of(rows.depth_step, "b_depth"));
  k.parameter("rows", b.length);
  k.parameter("columns", rows.length);
  k.parameter("run", b.depth);
  k.parameter("runs", std::int64_t{1});
  k.parameter("a_row", kept);
  k.parameter("b_depth", rows.depth_step);
  k.parameter("b_column", rows.step);
  k.parameter("places", m.place_offset());
  const std::int64_t row_blocks = tile.row_blocks(b.length), panels = tile.panels(rows.length);
  k.parameter("row_blocks", row_blocks);
  k.parameter("panels", panels);
  list.add(std::move(k), size.planes * row_blocks * panels * tile.items, static_cast<std::uint32_t>(tile.items));
  list.complete();
  return true;
}

}  // namespace tern::portable
