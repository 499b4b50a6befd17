#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>

#include "kernels/portable/quantized.h"
#include "kernels/portable/types.h"

namespace tern::portable {
namespace {

/// Element i of a run starting `from` bytes into x, as float.
std::string element(DType t, const std::string& x, const std::string& from, const std::string& i) {
  if (t == DType::i4 || t == DType::i2) {
    const int per = elements_per_byte(t), bits = 8 / per, sign = 1 << (bits - 1), mask = (1 << bits) - 1;
    return fmt::format("(float)((int)(({0}[({1}) / {2}] >> ({3} * (int)(({1}) % {2}))) & {4} ^ {5}) - {5})", x, i, per,
                       bits, mask, sign);
  }
  if (t == DType::f4_e2m1)
    return fmt::format("tern_f4_e2m1_to_f32((tern_u8)({0}[({1}) >> 1] >> (4 * (({1}) & 1)) & 15))", x, i);
  const std::string at = fmt::format("((TERN_GLOBAL const {}*)({} + {}))[{}]", c_type(t), x, from, i);
  return converted(t, DType::f32, at);
}

/// An element of `bits` 4 to 6 (dtypes/blocks.h).
std::string element_of_planes(const std::string& name, const QuantizedMatrix& m, const std::string& row_bytes,
                              const std::string& columns) {
  const std::string row = fmt::format("{}[(row) * {}", name, row_bytes);
  std::string code = fmt::format("({} + ((column) >> 1)] >> (4 * (int)((column) & 1)) & 15)", row);
  for (int p = 0; p < m.blocks.planes(); ++p)
    code += fmt::format(" | ({} + {} / 2 + {} * ({} / 8) + ((column) >> 3)] >> (int)((column) & 7) & 1) << {}", row,
                        columns, p, columns, 4 + p);
  const int sign = m.element == DType::i8 ? 1 << (m.blocks.bits - 1) : 0;
  return fmt::format("(float)((int)(({}) ^ {}) - {})", code, sign, sign);
}

/// Frequent powers of two divide by a constant shift; other divisors are parameters, to reduce the number of texts.
std::string divisor(std::int32_t block, const std::string& parameter) {
  constexpr std::int32_t kMost = 256;
  const bool usual = block <= kMost && std::has_single_bit(static_cast<std::uint32_t>(block));
  return usual ? fmt::format("{}u", block) : "(tern_u32)" + parameter;
}

/// Selects the kept element (two of four) stored for this position.
void declare_sparse(Launch& k, const std::string& name, const std::string& macro, const QuantizedMatrix& m) {
  k.parameter(name + "_kept_columns", m.columns / m.blocks.columns * m.blocks.kept);
  k.parameter(name + "_places", m.place_offset());
  k.parameter(name + "_place_columns", m.place_row_bytes());
  k.source.define(macro + "_PLACES(row, column)",
                  fmt::format("({0}[p.{0}_places + (row) * p.{0}_place_columns + ((column) >> 3)] >> "
                              "(int)((column) & 4))",
                              name));
  const auto kept = [&](int i) {
    const std::string at = fmt::format("(row) * p.{}_kept_columns + (((column) >> 2) << 1) + {}", name, i);
    return fmt::format("(({}_PLACES(row, column) >> {} & 3) == (int)((column) & 3) ? {} : 0.0f)", macro, 2 * i,
                       element(m.element, name, "0", at));
  };
  k.source.define(macro + "(row, column)", fmt::format("({} + {})", kept(0), kept(1)));
}

}  // namespace

void declare_quantized(Launch& k, const std::string& name, std::size_t index, const QuantizedMatrix& m) {
  const Blocks& b = m.blocks;
  const ScaleGrid grid = m.scales();
  std::string macro = name;
  std::ranges::transform(macro, macro.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  k.input(name, index, DType::u8);
  if (b.sparse()) return declare_sparse(k, name, macro, m);
  const auto parameter = [&](const char* what, std::int64_t value) {
    k.parameter(fmt::format("{}_{}", name, what), value);
    return fmt::format("p.{}_{}", name, what);
  };
  const std::string columns = parameter("columns", m.columns), rows = parameter("block_rows", b.rows),
                    block = parameter("block", b.columns), across = parameter("blocks", grid.columns),
                    scales = parameter("scales", m.scale_offset()), zeros = parameter("zeros", m.zero_offset()),
                    outer = parameter("outer", m.outer_offset());
  // Avoids divisions of 64 bits, the slowest part.
  const std::string r = b.rows == 1 ? "(row)" : fmt::format("((row) / {})", rows),
                    c = b.columns == m.columns
                            ? "0"
                            : fmt::format("((tern_i64)((tern_u32)(column) / {}))", divisor(b.columns, block));
  k.source.define(
      macro + "_BLOCK(row, column)",
      b.layout == ScaleLayout::plain
          ? fmt::format("({} * {} + {})", r, across, c)
          : fmt::format("(({0} / 128 * (({2} + 3) / 4) + {1} / 4) * 512 + {0} % 32 * 16 + {0} % 128 / 32 * 4 + "
                        "{1} % 4)",
                        r, c, across));
  const std::string at = macro + "_BLOCK(row, column)";
  std::string scale = element(b.scale, name, scales, at),
              zero = b.zero_point == ZeroPoint::none ? "0.0f" : element(b.zero, name, zeros, at);
  if (b.super()) {
    const std::string units = parameter("row_units", m.row_units()), super = parameter("super", b.super_columns),
                      unit = fmt::format("((row) * {} + (tern_i64)((tern_u32)(column) / {}))", units,
                                         divisor(b.super_columns, super));
    scale = fmt::format("({} * {})", scale,
                        element(DType::f16, name, parameter("scale_units", m.scale_unit_offset()), unit));
    if (b.zero_point != ZeroPoint::none)
      zero = fmt::format("({} * {})", zero,
                         element(DType::f16, name, parameter("zero_units", m.zero_unit_offset()), unit));
  }
  if (b.outer) scale = fmt::format("({} * {})", scale, element(DType::f32, name, outer, "0"));
  const std::string x = b.bits != 0 ? element_of_planes(name, m, parameter("element_row", m.row_bytes()), columns)
                                    : element(m.element, name, "0", fmt::format("((row) * {} + (column))", columns));
  const bool subtracts = b.zero_point == ZeroPoint::subtracted, adds = b.zero_point == ZeroPoint::added;
  k.source.define(macro + "_SCALE(row, column)", scale);
  k.source.define(macro + "_ZERO(row, column)", zero);
  k.source.define(macro + "_NUMBER(x, scale, zero)", subtracts ? "(((x) - (zero)) * (scale))"
                                                     : adds    ? "((x) * (scale) + (zero))"
                                                               : "((x) * (scale))");
  k.source.define(macro + "(row, column)",
                  fmt::format("{0}_NUMBER({1}, {0}_SCALE(row, column), {0}_ZERO(row, column))", macro, x));
}

}  // namespace tern::portable
