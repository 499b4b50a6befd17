// Helpers of quantized operators: rounding between operators, blocks, ranges of dtypes.
#include "exporter/lower/quantization.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "dtypes/convert.h"
#include "exporter/lower/pointwise.h"

namespace tern {

Term Steps::tensor(std::string_view name, ValueId v) {
  args_.emplace_back(name, v);
  has_double_ = has_double_ || b_.dtype(v) == DType::f64;
  return {std::string(name), b_.dtype(v)};
}

Term Steps::number(double v) {
  if (std::isinf(v)) return {v > 0 ? "inf" : "(-inf)"};
  if (std::isnan(v)) return {"nan"};
  return {v < 0 || std::signbit(v) ? fmt::format("({:.17g})", v) : fmt::format("{:.17g}", v)};
}

Term Steps::argument(const Call& c, std::string_view name) {
  const ExprArg a = expr_arg(b_, c, name);
  return a.value == kNoValue ? number(a.number.real()) : tensor(name, a.value);
}

Term Steps::apply(const Term& x, std::string_view op, const Term& y) {
  if (x.dtype == DType::invalid && y.dtype == DType::invalid) return {fmt::format("({} {} {})", x.text, op, y.text)};
  DType t = x.dtype == DType::invalid ? y.dtype : y.dtype == DType::invalid ? x.dtype : promote(x.dtype, y.dtype);
  if (op == "/") t = to_floating(t);
  // Rounds wide integers before arithmetic with 16-bit floats; narrow integers are exact.
  const auto operand = [&](const Term& v) {
    const bool rounds = is_floating(t) && element_size(t) == 2 && is_integral(v.dtype) && element_size(v.dtype) > 1;
    return rounds ? cast(v, t).text : v.text;
  };
  return {fmt::format("{}({} {} {})", name_of(t), operand(x), op, operand(y)), t};
}

Term Steps::cast(const Term& x, DType dtype) {
  return x.dtype == dtype ? x : Term{fmt::format("{}({})", name_of(dtype), x.text), dtype};
}

Term Steps::round(const Term& x) {
  return {"round(" + x.text + ")", x.dtype};
}

Term Steps::clamp(const Term& x, double lower, double upper) {
  return clamp_max(clamp_min(x, lower), upper);
}

Term Steps::clamp_min(const Term& x, double lower) {
  return {fmt::format("max({}, {})", x.text, number(rounded_to(lower, x.dtype)).text), x.dtype};
}

Term Steps::clamp_max(const Term& x, double upper) {
  return {fmt::format("min({}, {})", x.text, number(rounded_to(upper, x.dtype)).text), x.dtype};
}

Term Steps::larger(const Term& x, const Term& y) {
  return {fmt::format("max({}, {})", x.text, y.text), promote(x.dtype, y.dtype)};
}

Term Steps::clamp_min_zero(const Term& x) {
  return {"max(" + x.text + ", 0)", x.dtype};
}

Term Steps::clamp_max_zero(const Term& x) {
  return {"min(" + x.text + ", 0)", x.dtype};
}

Term Steps::negated(const Term& x) {
  return {"(-" + x.text + ")", x.dtype};
}

ValueId Steps::finish(const Term& x, DType result) {
  return b_.expr(x.text, args_, has_double_ ? DType::f64 : DType::f32, result == DType::invalid ? x.dtype : result);
}

double rounded_to(double v, DType t) {
  if (!is_floating(t) || t == DType::f64 || t == DType::f4_e2m1) return v;
  std::array<std::byte, 16> bytes{};
  double rounded_value = 0;
  convert(&v, DType::f64, bytes.data(), t, 1);
  convert(bytes.data(), t, &rounded_value, DType::f64, 1);
  return rounded_value;
}

std::optional<QuantizedRange> range_of(DType t) {
  switch (t) {
    case DType::u8: return QuantizedRange{0, 255};
    case DType::i8: return QuantizedRange{-128, 127};
    case DType::u16: return QuantizedRange{0, 65535};
    case DType::i16: return QuantizedRange{-32768, 32767};
    case DType::i32: return QuantizedRange{-2147483648.0, 2147483647.0};
    case DType::f8_e4m3fn: return QuantizedRange{-448, 448};
    case DType::f8_e4m3fnuz: return QuantizedRange{-240, 240};
    case DType::f8_e5m2:
    case DType::f8_e5m2fnuz: return QuantizedRange{-57344, 57344};
    default: return std::nullopt;
  }
}

BlockAxes blocks_of(Builder& b, const Call& c, ValueId x, const Dims& block) {
  const Dims& sizes = b.shape(x);
  if (block.size() != sizes.size()) {
    c.unsupported(fmt::format("there are {} block sizes for {}", block.size(), text_of(b.type(x), b.pool())));
  }
  BlockAxes result;
  const auto add = [&](Dim size, bool is_within_block) {
    if (is_within_block) result.within_axes.push_back(static_cast<std::int64_t>(result.split.size()));
    result.split.push_back(size);
    result.shared.push_back(is_within_block ? Dim(1) : size);
  };
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Dim size = sizes[i];
    const bool is_full = block[i] == size || (block[i].is_const() && block[i].value() < 1);
    if (is_full) {
      result.counts.push_back(1);
      add(size, !size.is(1));
    } else if (block[i].is(1)) {
      result.counts.push_back(size);
      add(size, false);
    } else {
      if (size.is_const() && block[i].is_const() && size.value() % block[i].value() != 0) {
        c.unsupported(fmt::format("blocks of {} do not divide an axis of size {}", block[i].value(), size.value()));
      }
      const Dim count = b.pool().floordiv(size, block[i]);
      result.counts.push_back(count);
      add(count, false);
      add(block[i], true);
    }
  }
  return result;
}

ValueId per_block(Builder& b, ValueId parameter, const BlockAxes& blocks) {
  if (b.numel(parameter).is(1) && b.rank(parameter) <= static_cast<int>(blocks.shared.size())) return parameter;
  return b.reshape(parameter, blocks.shared);
}

ValueId per_channel(Builder& b, ValueId parameter, ValueId x, std::int64_t axis) {
  Dims sizes(static_cast<std::size_t>(b.rank(x) - b.normal_axis(x, axis)), 1);
  if (sizes.empty()) return parameter;
  sizes[0] = b.numel(parameter);
  return b.reshape(parameter, sizes);
}

std::span<const Lowering> quantization_lowerings() {
  static const std::vector<Lowering> lowerings = [] {
    std::vector<Lowering> v;
    for (std::span<const Lowering> table :
         {decomposed_lowerings(), decomposed_parameter_lowerings(), decomposed_operator_lowerings(),
          torchao_affine_lowerings(), torchao_float8_lowerings(), fake_quantize_lowerings(), observer_lowerings(),
          packed_product_lowerings(), dynamic_product_lowerings(), semi_structured_lowerings(),
          scaled_product_lowerings(), scaled_grouped_product_lowerings()}) {
      v.insert(v.end(), table.begin(), table.end());
    }
    return v;
  }();
  return lowerings;
}

}  // namespace tern
