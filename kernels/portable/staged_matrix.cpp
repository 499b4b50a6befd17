#include "kernels/portable/staged_matrix.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/portable/quantized.h"
#include "kernels/portable/types.h"
#include "kernels/quantized_view.h"

namespace tern::portable {
namespace {

constexpr std::int64_t kEach = 8;  // neighbours of an item

/// What scratch gets: `lines` of each of the planes.
struct Lines {
  std::int64_t planes, lines, length;
  std::uint64_t bytes(DType t) const {
    return static_cast<std::uint64_t>(planes * lines * staged_stride(length) * element_size(t));
  }
};

/// The text's bounds and its target.
void add_lines(Launches& list, Launch k, const Lines& l, DType t, std::uint64_t scratch) {
  const std::int64_t stride = staged_stride(l.length), runs = stride / kEach, count = l.planes * l.lines * runs;
  k.scratch("to", scratch, t, true);
  k.source.use("word_elements");
  k.source.define("OUT_BYTES", element_size(t));
  k.source.define("NARROW(x)", converted(DType::f32, t, "x"));
  k.source.define("ONE_PLANE", l.planes == 1 ? 1 : 0);
  k.parameter("count", count);
  k.parameter("runs", runs);
  k.parameter("lines", l.lines);
  k.parameter("length", l.length);
  k.parameter("stride", stride);
  list.add(std::move(k), count);
}

/// The planes of an operand without those that repeat, and how they lie without gaps, `each` elements after each other.
struct Planes {
  TensorView once, dense;
  Planes(const TensorView& planes, std::int64_t each, DType t) : once(planes), dense(planes) {
    dense.dtype = t;
    std::int64_t stride = each;
    for (int i = planes.rank - 1; i >= 0; --i) {
      const auto at = static_cast<std::size_t>(i);
      if (once.strides[at] == 0) once.sizes[at] = 1;
      dense.strides[at] = once.sizes[at] == 1 ? 0 : stride;
      stride *= once.sizes[at];
    }
  }
};

bool is_turned(const ProductOperand& o) {
  return o.depth_step != 1 && o.step == 1;
}

Lines lines_of(const ProductOperand& from, std::int64_t count) {
  const std::int64_t planes = Planes(from.planes, 0, from.planes.dtype).once.numel();
  return is_turned(from) ? Lines{planes, from.depth, count} : Lines{planes, count, from.depth};
}

Lines lines_of(const TensorView& b, std::int64_t count) {
  const std::int64_t columns = b.size(b.rank - 2), depth = b.size(b.rank - 1);
  return {b.numel() / std::max<std::int64_t>(1, columns * depth), count, depth};
}

/// Element `e` of 8 neighbours of a quantized matrix, from their bits.
std::string whole_number(DType t) {
  if (t == DType::f4_e2m1) return "tern_f4_e2m1_to_f32((tern_u8)(words[0] >> 4 * (e) & 15))";
  if (const int per = elements_per_byte(t); per > 1) {
    const int bits = 8 / per, sign = 1 << (bits - 1);
    return fmt::format("(float)((int)((words[0] >> {} * (e) & {}) ^ {}) - {})", bits, (1 << bits) - 1, sign, sign);
  }
  return converted(t, DType::f32, fmt::format("(({})TERN_ELEMENT_1(words, e))", c_type(t)));
}

}  // namespace

std::uint64_t staged_bytes(const ProductOperand& from, std::int64_t count, DType t) {
  return lines_of(from, count).bytes(t);
}

ProductOperand stage(Launches& list, const ProductOperand& from, std::int64_t first, std::int64_t count, DType t,
                     std::uint64_t scratch) {
  const Lines lines = lines_of(from, count);
  const std::int64_t stride = staged_stride(lines.length), bytes = element_size(from.planes.dtype);
  const Planes planes(from.planes, lines.lines * stride, t);
  const bool turned = is_turned(from);
  const std::int64_t line = turned ? from.depth_step : from.step, near = turned ? from.step : from.depth_step;
  Launch k("stage_matrix");
  k.input("x", from.index, from.planes.dtype);
  k.source.view("x", planes.once);
  k.load("LOAD_X", from.planes.dtype, DType::f32);
  k.parameter("first", first * from.step);
  k.parameter("line", line);
  k.parameter("near", near);
  k.source.define("START_LINE(plane, row)",
                  fmt::format("TERN_GLOBAL const {}* from = x + (at_x(plane, &p) + p.first + (row) * p.line);",
                              c_type(from.planes.dtype)));
  k.source.define("NUMBER(k)", fmt::format("LOAD_X(from, (k) * {})", near == 1 ? "1" : "p.near"));
  k.source.define("WHOLE_AT(k)", "(from + (k))");
  k.source.define("WHOLE", near == 1 ? 1 : 0);
  k.source.define("WHOLE_BYTES", kEach * bytes);
  k.source.define("START_WHOLE(k)", "");
  k.source.define("WHOLE_NUMBER(e)",
                  bytes == 4 ? "tern_f32_of(words[e])"
                             : converted(from.planes.dtype, DType::f32, "((tern_u16)TERN_ELEMENT_2(words, e))"));
  add_lines(list, std::move(k), lines, t, scratch);
  ProductOperand to{from.index, planes.dense, count, from.depth, turned ? 1 : stride, turned ? stride : 1};
  to.scratch = scratch;
  return to;
}

std::uint64_t staged_quantized_bytes(const TensorView& b, std::int64_t count, DType t) {
  return lines_of(b, count).bytes(t);
}

ProductOperand stage_quantized(Launches& list, const TensorView& b, const ProductOperand& from, std::int64_t first,
                               std::int64_t count, DType t, std::uint64_t scratch) {
  const Lines lines = lines_of(b, count);
  const QuantizedMatrix m = quantized_matrix(b);
  const std::int64_t per = elements_per_byte(m.element);
  Launch k("stage_matrix");
  declare_quantized(k, "b", from.index, m);
  k.parameter("columns", from.length);
  k.parameter("first", first);
  k.source.define("START_LINE(plane, row)", "const tern_i64 at = (plane) * p.columns + p.first + (row);");
  k.source.define("NUMBER(k)", "B(at, k)");
  // Eight neighbours have one scale.
  const bool whole = !m.blocks.sparse() && (m.blocks.columns % kEach == 0 || m.blocks.columns == m.columns);
  k.source.define("WHOLE", whole ? 1 : 0);
  if (whole) {
    k.source.define("WHOLE_BYTES", kEach * element_size(m.element) / per);
    k.source.define("WHOLE_AT(k)", fmt::format("(b + (at * p.length + (k)) / {} * {})", per, element_size(m.element)));
    k.source.define("START_WHOLE(k)", "const float scale_ = B_SCALE(at, k); const float zero_ = B_ZERO(at, k);");
    k.source.define("WHOLE_NUMBER(e)", fmt::format("B_NUMBER({}, scale_, zero_)", whole_number(m.element)));
  }
  add_lines(list, std::move(k), lines, t, scratch);
  ProductOperand to{from.index, from.planes, count, from.depth, staged_stride(from.depth), 1};
  to.planes.dtype = t;
  for (std::int64_t& step : to.planes.strides) step *= count * to.step;
  to.scratch = scratch;
  return to;
}

}  // namespace tern::portable
