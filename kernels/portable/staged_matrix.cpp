#include "kernels/portable/staged_matrix.h"

#include <utility>

#include "kernels/portable/quantized.h"
#include "kernels/portable/types.h"
#include "kernels/quantized_view.h"

namespace tern::portable {
namespace {

/// The planes without repeating planes.
TensorView once(TensorView planes) {
  for (int i = 0; i < planes.rank; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (planes.strides[at] == 0) planes.sizes[at] = 1;
  }
  return planes;
}

bool is_quantized(const TensorView& v) {
  return v.blocks.columns != 0;
}

/// Elements of 4 and 2 bits have no type in texts; all but f4 are integers.
bool is_part_of_byte(DType t) {
  return elements_per_byte(t) > 1 && t != DType::f4_e2m1;
}

}  // namespace

StagedLines staged_lines(const TensorView& view, const ProductOperand& from, std::int64_t count) {
  if (is_quantized(view)) return {view.numel() / (from.length * from.depth), count, from.depth, false};
  const std::int64_t planes = once(from.planes).numel();
  const bool turned = from.depth_step != 1 && from.step == 1;
  return turned ? StagedLines{planes, from.depth, count, true} : StagedLines{planes, count, from.depth, false};
}

ProductOperand stage(Launches& list, const TensorView& view, const ProductOperand& from, std::int64_t first,
                     std::int64_t count, DType t, std::uint64_t scratch) {
  const StagedLines l = staged_lines(view, from, count);
  const std::int64_t each = 16 / element_size(t), stride = l.stride(), runs = stride / each,
                     items = l.planes * l.lines * runs;
  const std::int64_t line = l.turned ? from.depth_step : from.step, near = l.turned ? from.step : from.depth_step;
  const bool quantized = is_quantized(view);
  const bool nibbles = quantized && view.blocks.bits == 4;  // elements without sign
  const int bits = nibbles ? 4 : 8 * element_size(view.dtype) / elements_per_byte(view.dtype);
  bool whole = near == 1;
  Launch k("stage_matrix");
  if (quantized) {
    const QuantizedMatrix m = quantized_matrix(view);
    declare_quantized(k, "b", from.index, m);
    // The elements of an item share a scale.
    whole =
        !m.blocks.sparse() && m.blocks.planes() == 0 && (m.blocks.columns % each == 0 || m.blocks.columns == m.columns);
  } else {
    k.input("x", from.index, view.dtype);
    k.source.view("x", once(from.planes));
  }
  k.scratch("to", scratch, t, true);
  k.source.add_library("word_elements");
  if (!is_part_of_byte(view.dtype) && !nibbles) {
    k.type("X_T", view.dtype);
    k.source.define("WIDEN(x)", converted(view.dtype, DType::f32, "(X_T)(x)"));
  }
  k.source.define("NARROW(x)", converted(DType::f32, t, "x"));
  const std::pair<const char*, std::int64_t> numbers[] = {{"QUANTIZED", quantized},
                                                          {"WHOLE", whole},
                                                          {"BITS", bits},
                                                          {"SIGN_BIT", bits < 8 && !nibbles ? 1 << (bits - 1) : 0},
                                                          {"OUT_BYTES", element_size(t)},
                                                          {"ONE_PLANE", l.planes == 1}};
  for (const auto& [name, value] : numbers) k.source.define(name, value);
  const std::pair<const char*, std::int64_t> parameters[] = {
      {"count", items},    {"runs", runs}, {"lines", l.lines}, {"length", l.length},
      {"line", line},      {"near", near}, {"stride", stride}, {"first", quantized ? first : first * from.step},
      {"all", from.length}};
  for (const auto& [name, value] : parameters) k.parameter(name, value);
  list.add(std::move(k), items);

  ProductOperand to{from.index, from.planes, count, from.depth, l.turned ? 1 : stride, l.turned ? stride : 1};
  to.planes.dtype = t;
  to.scratch = scratch;
  // Quantized planes are numbered; other planes are consecutive, without repeating planes.
  std::int64_t next = l.lines * stride;
  for (int i = to.planes.rank - 1; i >= 0; --i) {
    std::int64_t& step = to.planes.strides[static_cast<std::size_t>(i)];
    if (quantized) {
      step *= next;
    } else if (step != 0) {
      step = next;
      next *= to.planes.size(i);
    }
  }
  return to;
}

}  // namespace tern::portable
