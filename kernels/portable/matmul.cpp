// matmul: the batch axes broadcast, sums in the type of the op's rule.
#include "kernels/portable/axes.h"
#include "kernels/portable/definitions.h"
#include "kernels/portable/launches.h"
#include "kernels/portable/products.h"
#include "kernels/portable/quantized.h"
#include "kernels/portable/row_products.h"
#include "kernels/portable/sparse_product.h"
#include "kernels/portable/staged_product.h"
#include "kernels/portable/vectors.h"
#include "kernels/quantized_view.h"

namespace tern::portable {
namespace {

using Operand = ProductOperand;

/// View of the batch axes of `v`, broadcast to the sizes of the result's batch axes.
TensorView batch_planes(const TensorView& v, const TensorView& out) {
  TensorView b = out;
  b.rank = out.rank - 2;
  b.dtype = v.dtype;
  const int missing_axes = out.rank - v.rank;
  for (int i = 0; i < b.rank; ++i) {
    const bool repeats = i < missing_axes || v.size(i - missing_axes) == 1;
    b.strides[static_cast<std::size_t>(i)] = repeats ? 0 : v.stride(i - missing_axes);
  }
  return b;
}

Operand left_operand(const KernelCall& c) {
  const TensorView& a = c.in[0];
  return {
      0, batch_planes(a, c.out[0]), a.size(a.rank - 2), a.size(a.rank - 1), a.stride(a.rank - 2), a.stride(a.rank - 1)};
}
Operand right_operand(const KernelCall& c) {
  const TensorView& b = c.in[1];
  return {
      1, batch_planes(b, c.out[0]), b.size(b.rank - 1), b.size(b.rank - 2), b.stride(b.rank - 1), b.stride(b.rank - 2)};
}

/// Quantized matrices are stored by columns, and their planes are numbered.
Operand quantized_right_operand(const KernelCall& c) {
  const TensorView& b = c.in[1];
  const std::int64_t columns = b.size(b.rank - 2), depth = b.size(b.rank - 1);
  Operand o{1, batch_planes(b, c.out[0]), columns, depth, depth, 1};
  for (std::int64_t& stride : o.planes.strides) stride /= std::max<std::int64_t>(1, columns * depth);
  return o;
}

/// Merges planes: consecutive planes of `a` that multiply the same matrix of `b` become rows of one plane.
void merge_planes(Operand& a, Operand& b) {
  for (int i = a.planes.rank - 1; i >= 0; --i) {
    const auto axis = static_cast<std::size_t>(i);
    const std::int64_t size = a.planes.sizes[axis];
    if (size != 1) {
      if (b.planes.strides[axis] != 0) return;
      if (a.length == 1) a.step = a.planes.strides[axis];
      if (a.planes.strides[axis] != a.length * a.step) return;
      a.length *= size;
      a.planes.sizes[axis] = b.planes.sizes[axis] = 1;
    }
  }
}

constexpr std::int64_t kMinTiledWork = std::int64_t{1} << 15;  // smallest number of products worth a tile's set-up
constexpr std::int64_t kMinPackedReads = 32;                   // reads of a panel making packing worthwhile
constexpr std::int64_t kMatmulRun = 64;                        // steps of k packed by an item
constexpr std::int64_t kMatmulMinTileRows = 2;                 // rows without sharing of tiles in a group

/// Adds a launch that packs the operand into scratch memory, in panels of `width` rows, and declares the packed operand
/// in `k`. Broadcast planes are packed once.
void declare_packed(Launch& k, const char* name, const Operand& m, std::int64_t width, bool packs_elements,
                    Launches& list) {
  TensorView distinct_planes = m.planes, packed_planes = m.planes;
  for (int i = 0; i < distinct_planes.rank; ++i) {
    const auto axis = static_cast<std::size_t>(i);
    if (distinct_planes.strides[axis] == 0) distinct_planes.sizes[axis] = 1;
  }
  const std::int64_t panels = (m.length + width - 1) / width, size = panels * width * m.depth;
  std::int64_t stride = size;
  for (int i = packed_planes.rank - 1; i >= 0; --i) {
    const auto axis = static_cast<std::size_t>(i);
    packed_planes.strides[axis] = distinct_planes.strides[axis] == 0 ? 0 : stride;
    stride *= distinct_planes.sizes[axis];
  }
  const std::int64_t rows_per_item = packs_elements ? 1 : width, steps_per_item = packs_elements ? 1 : kMatmulRun,
                     items_per_row = (m.depth + steps_per_item - 1) / steps_per_item;
  const std::uint64_t packed = list.scratch(static_cast<std::uint64_t>(distinct_planes.numel() * size) * sizeof(float));
  Launch pack("pack_panels");
  pack.type("SUM_T", DType::f32);
  pack.source.define("WIDTH", width);
  pack.source.define("EACH", rows_per_item);
  pack.source.define("RUN", steps_per_item);
  pack.source.define("STEP", m.step == 1 ? "1" : "p.step");
  pack.source.define("DEPTH_STEP", m.depth_step == 1 ? "1" : "p.depth_step");
  pack.input("from", m.index, m.planes.dtype);
  pack.load("LOAD", m.planes.dtype, DType::f32);
  pack.scratch("to", packed, DType::f32, true);
  pack.source.view("planes", distinct_planes);
  pack.parameter("count", distinct_planes.numel() * panels * items_per_row * (width / rows_per_item));
  pack.parameter("runs", items_per_row);
  pack.parameter("panels", panels);
  pack.parameter("length", m.length);
  pack.parameter("depth", m.depth);
  pack.parameter("step", m.step);
  pack.parameter("depth_step", m.depth_step);
  list.add(std::move(pack), distinct_planes.numel() * panels * items_per_row * (width / rows_per_item));
  k.scratch(name, packed, DType::f32, false);
  k.source.view(name, packed_planes);
}

/// The result, and the bias.
void declare_result(Launch& k, const KernelCall& c, DType sum) {
  k.source.arithmetic("SUM", sum);
  const TensorView bias = c.has_input(2) ? broadcast(c.in[2], c.out[0]) : TensorView{};
  declare_result(k, c, c.has_input(2) ? &bias : nullptr, sum);
}

void declare_sizes(Launch& k, const Operand& a, const Operand& b) {
  k.parameter("rows", a.length);
  k.parameter("columns", b.length);
  k.parameter("depth", a.depth);
  k.parameter("a_row", a.step);
  k.parameter("a_depth", a.depth_step);
  k.parameter("b_depth", b.depth_step);
  k.parameter("b_column", b.step);
}

void add_tiled_product(const KernelCall& c, Launches& list, bool faster) {
  Operand a = left_operand(c), b = right_operand(c);
  merge_planes(a, b);
  if (list.target().groups) {
    const TensorView broadcast_bias = c.has_input(2) ? broadcast(c.in[2], c.out[0]) : TensorView{};
    const TensorView* const bias = c.has_input(2) ? &broadcast_bias : nullptr;
    const bool has_few_rows =
        a.length < kMatmulMinTileRows || (a.length <= kMostFewRows && a.planes.dtype != b.planes.dtype);
    if (faster && has_few_rows && b.depth_step == 1) return add_row_product(c, list, a, b, bias);
    if (a.length >= kMatmulMinTileRows) return add_product(c, list, a, b, bias, faster);
  }
  VectorTile tile = widest_tile(list.target());
  for (std::int64_t row_count : {8, 6, 4, 2, 1}) {
    if (a.length < tile.rows && row_count < tile.rows) tile.rows = row_count;
  }
  const std::int64_t width = tile.panel(), row_blocks = (a.length + tile.rows - 1) / tile.rows,
                     panels = (b.length + width - 1) / width;
  const bool packs_a = row_blocks > 1 && b.length >= kMinPackedReads;
  const bool packs_b = a.length >= kMinPackedReads;
  const bool has_adjacent_columns = b.step == 1 && b.planes.dtype == DType::f32 && b.length % width == 0;
  Launch k("matmul_tiled");
  declare_tile(k.source, tile);
  declare_result(k, c, DType::f32);
  k.load("LOAD_A", a.planes.dtype, DType::f32);
  k.load("LOAD_B", b.planes.dtype, DType::f32);
  k.type("A_T", packs_a ? DType::f32 : a.planes.dtype);
  k.type("B_T", packs_b ? DType::f32 : b.planes.dtype);
  k.source.define("A_PACKED", packs_a ? 1 : 0);
  k.source.define("A_DEPTH", a.depth_step == 1 ? "1" : "p.a_depth");
  k.source.define("B_PACKED", packs_b ? 1 : 0);
  k.source.define("B_BESIDE", has_adjacent_columns ? 1 : 0);
  k.source.define("B_COLUMN", b.step == 1 ? "1" : "p.b_column");
  if (packs_a) {
    declare_packed(k, "a", a, tile.rows, !tile.has_vectors(), list);
  } else {
    k.input("a", 0, a.planes.dtype);
    k.source.view("a", a.planes);
  }
  if (packs_b) {
    declare_packed(k, "b", b, width, !tile.has_vectors(), list);
  } else {
    k.input("b", 1, b.planes.dtype);
    k.source.view("b", b.planes);
  }
  declare_sizes(k, a, b);
  k.parameter("row_blocks", row_blocks);
  k.parameter("panels", panels);
  list.add(std::move(k), a.planes.numel() * row_blocks * panels * tile.items, static_cast<std::uint32_t>(tile.items));
}

/// Products with quantized matrices, stored by columns.
void add_quantized_product(const KernelCall& c, Launches& list, bool faster) {
  const TensorView& out = c.out[0];
  Operand a = left_operand(c), b = quantized_right_operand(c);
  if (faster && list.target().groups && out.numel() > 0) {
    merge_planes(a, b);
    const TensorView bias = c.has_input(2) ? broadcast(c.in[2], out) : TensorView{};
    return add_quantized_row_product(c, list, a, b, c.has_input(2) ? &bias : nullptr);
  }
  Launch k("matmul_quantized");
  declare_result(k, c, DType::f32);
  k.input("a", 0, a.planes.dtype);
  k.load("LOAD_A", a.planes.dtype, DType::f32);
  k.source.view("a", a.planes);
  declare_quantized(k, "b", 1, quantized_matrix(c.in[1]));
  k.source.view("b", b.planes);
  k.parameter("rows", a.length);
  k.parameter("columns", b.length);
  k.parameter("depth", a.depth);
  k.parameter("a_row", a.step);
  k.parameter("a_depth", a.depth_step);
  k.parameter("count", out.numel());
  list.add(std::move(k), out.numel());
}

/// `faster`: allows device-specific bits.
void add_any_product(const KernelCall& c, Launches& list, bool faster) {
  if (c.in[1].blocks.columns != 0) return add_quantized_product(c, list, faster);
  const TensorView& out = c.out[0];
  const Operand a = left_operand(c), b = right_operand(c);
  const DType sum = number_type(a.planes.dtype);
  if (sum == DType::f32 && out.numel() > 0 && out.numel() * a.depth >= kMinTiledWork)
    return add_tiled_product(c, list, faster);
  Launch k("matmul");
  declare_result(k, c, sum);
  k.input("a", 0, a.planes.dtype);
  k.load("LOAD_A", a.planes.dtype, sum);
  k.source.view("a", a.planes);
  k.input("b", 1, b.planes.dtype);
  k.load("LOAD_B", b.planes.dtype, sum);
  k.source.view("b", b.planes);
  declare_sizes(k, a, b);
  k.parameter("count", out.numel());
  list.add(std::move(k), out.numel());
}

void matmul(const KernelCall& c, Launches& list) {
  add_any_product(c, list, false);
}

std::unique_ptr<KernelState> prepare_faster(const KernelCall& c) {
  auto list = std::make_unique<LibraryLaunches>(c);
  Operand a = left_operand(c), b = c.in[1].blocks.columns != 0 ? quantized_right_operand(c) : right_operand(c);
  merge_planes(a, b);
  if (!add_sparse_product(c, *list, a, b) && !add_staged_product(c, *list, a, b)) add_any_product(c, *list, true);
  return list;
}

Kernel faster_matmul() {
  Kernel k = kernel<matmul>();
  k.prepare = prepare_faster;
  k.run = [](KernelCall& call) { static_cast<const LibraryLaunches*>(call.state)->run(call); };
  return k;
}

}  // namespace

void define_contractions(Definitions& d) {
  d.set(Op::matmul, kernel<matmul>());
  d.set_faster(Op::matmul, faster_matmul());
}

}  // namespace tern::portable
