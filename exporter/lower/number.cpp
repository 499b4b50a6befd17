// Predicates, signs, rounding and real and imaginary parts: operators with a dtype-dependent expression.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string>

#include "exporter/lower/pointwise.h"

namespace tern {
namespace {

bool has_fraction(DType t) {
  return is_floating(t) || is_complex(t);
}

Values constant_like(Builder& b, const Call& c, bool value) {
  return {b.full(b.shape(c.tensor("self")), value ? 1.0 : 0.0, DType::boolean)};
}

/// `text` for types with infinities and NaN, else the constant.
Values predicate(Builder& b, const Call& c, std::string_view text, bool otherwise) {
  if (!has_fraction(b.dtype(c.tensor("self")))) return constant_like(b, c, otherwise);
  return {lower_text(b, c, text, ComputeIn::self)};
}

Values isnan(Builder& b, const Call& c) {
  return predicate(b, c, "isnan(self)", false);
}
Values isinf(Builder& b, const Call& c) {
  return predicate(b, c, "isinf(self)", false);
}
Values isposinf(Builder& b, const Call& c) {
  return predicate(b, c, "self == inf", false);
}
Values isneginf(Builder& b, const Call& c) {
  return predicate(b, c, "self == -inf", false);
}
Values isfinite(Builder& b, const Call& c) {
  return predicate(b, c, "!(isnan(self) || isinf(self))", true);
}
Values isreal(Builder& b, const Call& c) {
  if (!is_complex(b.dtype(c.tensor("self")))) return constant_like(b, c, true);
  return {lower_text(b, c, "imag(self) == 0", ComputeIn::self)};
}
Values signbit(Builder& b, const Call& c) {
  if (b.dtype(c.tensor("self")) == DType::boolean) return constant_like(b, c, false);
  return {lower_text(b, c, "signbit(self)", ComputeIn::self)};
}

Values sign(Builder& b, const Call& c) {
  const DType t = b.dtype(c.tensor("self"));
  if (t == DType::boolean) return {c.tensor("self")};
  return {lower_text(b, c, is_complex(t) ? "sgn(self)" : "sign(self)")};
}

/// Rounding returns integers unchanged.
Values rounding(Builder& b, const Call& c, std::string_view text) {
  if (!has_fraction(b.dtype(c.tensor("self")))) return {c.tensor("self")};
  return {lower_text(b, c, text)};
}
Values floor(Builder& b, const Call& c) {
  return rounding(b, c, "floor(self)");
}
Values ceil(Builder& b, const Call& c) {
  return rounding(b, c, "ceil(self)");
}
Values trunc(Builder& b, const Call& c) {
  return rounding(b, c, "trunc(self)");
}
Values round(Builder& b, const Call& c) {
  return rounding(b, c, "round(self)");
}
Values frac(Builder& b, const Call& c) {
  return {lower_text(b, c, "self - trunc(self)")};
}

/// Scales by a power of ten, rounds and scales back, like PyTorch.
Values round_decimals(Builder& b, const Call& c) {
  const std::int64_t decimals = c.integer("decimals");
  if (decimals == 0) return round(b, c);
  const double ten = std::pow(10.0, static_cast<double>(std::abs(decimals)));
  return rounding(b, c,
                  decimals > 0 ? fmt::format("round(self * {0:.1f}) / {0:.1f}", ten)
                               : fmt::format("round(self / {0:.1f}) * {0:.1f}", ten));
}

double largest(DType t) {
  switch (t) {
    case DType::f16:
    case DType::c32: return 65504.0;
    case DType::bf16: return 0x1.fep127;
    case DType::f64:
    case DType::c128: return 0x1.fffffffffffffp1023;
    case DType::f8_e4m3fn: return 448.0;
    case DType::f8_e5m2: return 57344.0;
    default: return 0x1.fffffep127;
  }
}

Values nan_to_num(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const DType t = b.dtype(x);
  if (!has_fraction(t)) return {x};
  const double upper = largest(t), high = c.number_or("posinf", upper), low = c.number_or("neginf", -upper);
  const std::vector<ExprArg> args = {{"x", x}, {"none", c.number_or("nan", 0)}, {"high", high}, {"low", low}};
  if (!is_complex(t)) {
    if (high == upper && low == -upper)
      return {b.expr("isnan(x) ? none : max(min(x, high), low)", args, c.result_dtype())};
    return {b.expr("isnan(x) ? none : x == inf ? high : x == -inf ? low : x", args, c.result_dtype())};
  }
  return {
      b.expr("r = real(x); i = imag(x); complex(isnan(r) ? none : r == inf ? high : r == -inf ? low : r, "
             "isnan(i) ? none : i == inf ? high : i == -inf ? low : i)",
             args, c.result_dtype())};
}

Values complex_component(Builder& b, const Call& c, std::string_view text) {
  if (!is_complex(b.dtype(c.tensor("self")))) return {c.tensor("self")};
  return {lower_text(b, c, text, ComputeIn::self)};
}
Values real(Builder& b, const Call& c) {
  return complex_component(b, c, "real(self)");
}
Values imag(Builder& b, const Call& c) {
  return complex_component(b, c, "imag(self)");
}
Values conj(Builder& b, const Call& c) {
  return complex_component(b, c, "conj(self)");
}

constexpr std::array kNumberLowerings = {
    Lowering{"aten.isnan.default", isnan},
    Lowering{"aten.isinf.default", isinf},
    Lowering{"aten.isposinf.default", isposinf},
    Lowering{"aten.isneginf.default", isneginf},
    Lowering{"aten.isfinite.default", isfinite},
    Lowering{"aten.isreal.default", isreal},
    Lowering{"aten.signbit.default", signbit},
    Lowering{"aten.sign.default", sign},
    Lowering{"aten.sgn.default", sign},
    Lowering{"aten.floor.default", floor},
    Lowering{"aten.ceil.default", ceil},
    Lowering{"aten.trunc.default", trunc},
    Lowering{"aten.fix.default", trunc},
    Lowering{"aten.round.default", round},
    Lowering{"aten.round.decimals", round_decimals},
    Lowering{"aten.special_round.default", round_decimals},
    Lowering{"aten.frac.default", frac},
    Lowering{"aten.nan_to_num.default", nan_to_num},
    Lowering{"aten.real.default", real},
    Lowering{"aten.imag.default", imag},
    Lowering{"aten.conj.default", conj},
    Lowering{"aten._conj.default", conj},
    Lowering{"aten._conj_copy.default", conj},
    Lowering{"aten.conj_physical.default", conj},
    Lowering{"aten._conj_physical.default", conj},
};

}  // namespace

std::span<const Lowering> number_lowerings() {
  return kNumberLowerings;
}

}  // namespace tern
