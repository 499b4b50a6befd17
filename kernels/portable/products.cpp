#include "kernels/portable/products.h"

#include <algorithm>

#include "kernels/portable/product_tiles.h"

namespace tern::portable {
namespace {

void declare_window(Launch& k, const ProductWindow& w) {
  k.source.add_library("product_window");
  k.source.add_library(w.has_channels_inner ? "product_elements" : "product_table");
  k.parameter("elements", w.extent[0] * w.extent[1] * w.extent[2]);
  k.parameter("x_channel", w.x_channel);
  parameter(k, "x_sizes", w.x_sizes);
  parameter(k, "x_strides", w.x_strides);
  parameter(k, "out_sizes", w.out_sizes);
  parameter(k, "extent", w.extent);
  parameter(k, "strides", w.strides);
  parameter(k, "dilations", w.dilations);
  parameter(k, "before", w.padding_before);
}

}  // namespace

std::string step_of(std::int64_t step, const char* parameter) {
  return step == 1 ? "1" : std::string("p.") + parameter;
}

void declare_operand(Launch& k, const char* name, const ProductOperand& o) {
  const DType t = o.planes.dtype;
  if (o.scratch) {
    k.scratch(name, *o.scratch, t, false);
  } else if (o.table) {
    k.table(name, *o.table, t);
  } else {
    k.input(name, o.index, t);
  }
  k.source.view(name, o.planes);
}

void declare_result(Launch& k, const KernelCall& c, const TensorView* bias, DType sum) {
  k.source.define("BIAS", bias != nullptr ? 1 : 0);
  if (bias != nullptr) {
    k.input("bias", 2, bias->dtype);
    k.load("LOAD_BIAS", bias->dtype, sum);
    k.source.view("bias", *bias);
  }
  k.output("out", 0, c.out[0].dtype);
  k.store("STORE", sum, c.out[0].dtype);
}

void add_product(const KernelCall& c, Launches& list, const ProductOperand& a, const ProductOperand& b,
                 const TensorView* bias, bool faster, const ProductWindow* window, const ResultColumns* part) {
  const DType a_type = a.planes.dtype, b_type = b.planes.dtype;
  const bool units = faster && has_units(list.target(), a_type, b_type);
  const ProductSize size{a.length, b.length, a.depth, a.planes.numel()};
  const std::int64_t run = window != nullptr && window->has_channels_inner ? window->channels : a.depth;
  const ProductTile tile = units ? unit_tile(size, run) : block_tile(size, faster);
  const bool a_turned = a.depth_step != 1 && a.step == 1;
  const bool b_turned = window == nullptr && b.depth_step == 1 && b.step != 1;
  Launch k(units ? "product_units" : "product_blocks");
  tile.declare(k.source, units, a_turned, b_turned);
  k.source.define("CONVOLUTION", window == nullptr ? 0 : window->has_channels_inner ? 1 : 2);
  declare_result(k, c, bias, DType::f32);
  declare_operand(k, "a", a);
  declare_operand(k, "b", b);
  const std::string a_row = step_of(a.step, "a_row"), a_depth = step_of(a.depth_step, "a_depth");
  const std::string b_column = step_of(b.step, "b_column"), b_depth = step_of(b.depth_step, "b_depth");
  if (units) {
    k.source.add_library("matrix_units:" + type_name(a_type));
    k.source.define("A_NEAR", a_turned ? a_row : a_depth);
    k.source.define("B_NEAR", b_turned ? b_depth : b_column);
  } else {
    k.source.add_library("local_memory");
    k.load("LOAD_A", a_type, DType::f32);
    k.load("LOAD_B", b_type, DType::f32);
    k.source.define("A_ROW_STEP", a_row);
    k.source.define("A_DEPTH", a_depth);
    k.source.define("B_DEPTH", b_depth);
    k.source.define("B_COLUMN_STEP", b_column);
  }
  if (window != nullptr) declare_window(k, *window);
  k.source.define("RESULT_ROW", part == nullptr ? "p.columns" : "p.result_row");
  k.source.define("RESULT_FIRST", part == nullptr ? "0" : "p.result_first");
  if (part != nullptr) {
    k.parameter("result_row", part->total);
    k.parameter("result_first", part->first);
  }
  k.parameter("rows", a.length);
  k.parameter("columns", b.length);
  k.parameter("run", run);
  k.parameter("runs", run == 0 ? 0 : a.depth / run);
  k.parameter("a_row", a.step);
  k.parameter("a_depth", a.depth_step);
  k.parameter("b_depth", b.depth_step);
  k.parameter("b_column", b.step);
  const std::int64_t row_blocks = tile.row_blocks(a.length), panels = tile.panels(b.length);
  k.parameter("row_blocks", row_blocks);
  k.parameter("panels", panels);
  list.add(std::move(k), size.planes * row_blocks * panels * tile.items, static_cast<std::uint32_t>(tile.items));
}

}  // namespace tern::portable
