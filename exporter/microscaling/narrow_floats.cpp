#include "exporter/microscaling/narrow_floats.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace tern::microscaling {
namespace {

// OCP MX 1.0, section 5.3; the names of torchao/prototype/mx_formats/constants.py.
constexpr NarrowFloat kTypes[] = {
    {"float8_e4m3fn", DType::f8_e4m3fn, 3, -6, 8, 448}, {"float8_e5m2", DType::f8_e5m2, 2, -14, 15, 57344},
    {"fp6_e2m3", DType::f6_e2m3, 3, 0, 2, 7.5},         {"fp6_e3m2", DType::f6_e3m2, 2, -2, 4, 28},
    {"float4_e2m1fn_x2", DType::f4_e2m1, 1, 0, 2, 6},
};

}  // namespace

const NarrowFloat* find_narrow_float(std::string_view name) {
  const auto* it = std::ranges::find(kTypes, name, &NarrowFloat::name);
  return it == std::end(kTypes) ? nullptr : it;
}

const NarrowFloat* find_narrow_float(DType dtype) {
  const auto* it = std::ranges::find(kTypes, dtype, &NarrowFloat::dtype);
  return it == std::end(kTypes) ? nullptr : it;
}

bool has_elements(const NarrowFloat& t) {
  return t.dtype == DType::f8_e4m3fn || t.dtype == DType::f8_e5m2;
}

ValueId elements_of(Builder& b, ValueId x, const NarrowFloat& t) {
  return b.cast(b.expr("max(min(x, largest), 0 - largest)", {{"x", x}, {"largest", t.largest}}, DType::f32), t.dtype);
}

ValueId round_to(Builder& b, ValueId x, const NarrowFloat& t) {
  if (has_elements(t)) return b.cast(elements_of(b, x, t), DType::f32);
  // The distance between neighbours doubles with each exponent.
  std::string step;
  for (int e = t.least_exponent; e < t.most_exponent; ++e)
    step += fmt::format("a < {} ? {} : ", std::ldexp(1.0, e + 1), std::ldexp(1.0, e - t.mantissa_bits));
  step += fmt::format("{}", std::ldexp(1.0, t.most_exponent - t.mantissa_bits));
  return b.expr(fmt::format("a = abs(x); s = {}; copysign(min(round(a / s) * s, largest), x)", step),
                {{"x", x}, {"largest", t.largest}}, DType::f32);
}

}  // namespace tern::microscaling
