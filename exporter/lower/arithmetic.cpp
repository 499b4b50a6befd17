// Elementwise arithmetic beyond a single expression: modes, optional bounds, special exponents.
#include <fmt/format.h>

#include <array>
#include <string>

#include "exporter/lower/pointwise.h"

namespace tern {
namespace {

/// Tells whether PyTorch computes `self` with `other` in the result's type of 16 bits, rounding each step.
bool in_steps(Builder& b, const Call& c) {
  return is_floating(c.result_dtype()) && element_size(c.result_dtype()) == 2 && !is_single(b, c, "other");
}

Values floor_divide(Builder& b, const Call& c) {
  if (!in_steps(b, c)) return {lower_text(b, c, "floordiv(self, other)", ComputeIn::factors)};
  return {
      lower_text(b, c,
                 "m = fmod(self, other); q = rounded(rounded(self - m) / other); "
                 "d = m != 0 && (other < 0) != (m < 0) ? rounded(q - 1) : q; f = floor(d); "
                 "other == 0 ? self / other : d == 0 ? copysign(0, self / other) : rounded(d - f) > 0.5 ? f + 1 : f")};
}

Values div_mode(Builder& b, const Call& c) {
  const std::string mode = c.text_or("rounding_mode", "");
  if (mode.empty()) return {lower_text(b, c, "self / other", ComputeIn::factors)};
  if (mode == "floor") return floor_divide(b, c);
  if (mode == "trunc" && in_steps(b, c)) return {lower_text(b, c, "trunc(rounded(self / other))")};
  if (mode == "trunc") return {lower_text(b, c, "truncdiv(self, other)", ComputeIn::factors)};
  c.unsupported("unsupported rounding mode '" + mode + "'");
}

/// Product with a power, its own operator in PyTorch. Integer exponents scale in three steps here: each step's power is
/// finite.
Values ldexp(Builder& b, const Call& c) {
  const bool is_full =
      c.is_tensor("other") && is_integral(b.dtype(c.tensor("other"))) && is_floating(b.dtype(c.tensor("self")));
  if (is_full) {
    const int upper = b.dtype(c.tensor("self")) == DType::f64 ? 2200 : 300;
    return {b.expr("n = min(max(other, -most), most); a = trunc(n / 3); self * exp2(a) * exp2(a) * exp2(n - 2 * a)",
                   {{"self", c.tensor("self")}, {"other", c.tensor("other")}, {"most", static_cast<double>(upper)}},
                   c.result_dtype())};
  }
  if (in_steps(b, c)) return {lower_text(b, c, "self * rounded(exp2(other))")};
  if (const DType t = c.is_tensor("other") ? b.dtype(c.tensor("other")) : DType::f32;
      t == DType::f16 || t == DType::bf16) {
    // The power has its own 16 bits, whatever the type of the product.
    const ValueId power = b.expr("exp2(x)", {{"x", c.tensor("other")}}, t);
    return {b.expr("x * p", {{"x", b.cast(c.tensor("self"), c.result_dtype())}, {"p", power}}, c.result_dtype())};
  }
  return {lower_text(b, c, "self * exp2(other)", ComputeIn::factors)};
}

/// Exponents computed by PyTorch without pow().
Values pow_scalar(Builder& b, const Call& c) {
  const CallArgument& e = c.arg("exponent");
  const bool known = e.kind == CallArgument::Kind::number ||
                     (e.kind == CallArgument::Kind::integer && e.integer.is_const()) ||
                     e.kind == CallArgument::Kind::boolean;
  const DType result = c.result_dtype();
  const bool floating = is_floating(result) || is_complex(result);
  const double n = known ? c.number("exponent") : 0;
  if (known && n == 0) return {b.full(b.shape(c.tensor("self")), 1.0, result)};
  if (known && n == 1) return {b.cast(c.tensor("self"), result)};
  if (known && n == 2) return {lower_text(b, c, "self * self")};
  if (known && n == 3) return {lower_text(b, c, "self * self * self")};
  if (known && floating && n == 0.5 && result != DType::f16) return {lower_text(b, c, "sqrt(self)")};
  if (known && floating && n == -0.5 && result != DType::f16) return {lower_text(b, c, "rsqrt(self)")};
  if (known && floating && n == -1) return {lower_text(b, c, "reciprocal(self)")};
  if (known && floating && n == -2) return {lower_text(b, c, "reciprocal(self * self)")};
  return {lower_text(b, c, "pow(self, exponent)")};
}

/// NaN passes; max wins over a smaller min. Between equal numbers (zeros of both signs) an extreme takes its second
/// operand: `self`, unless a bound is a tensor.
Values clamp(Builder& b, const Call& c) {
  const bool low = c.has_argument("min");
  const bool high = c.has_argument("max");
  const bool tensors = (low && c.is_tensor("min")) || (high && c.is_tensor("max"));
  if (low && high) return {lower_text(b, c, tensors ? "min(max(self, min), max)" : "min(max, max(min, self))")};
  if (low) return {lower_text(b, c, tensors ? "max(self, min)" : "max(min, self)")};
  if (high) return {lower_text(b, c, tensors ? "min(self, max)" : "min(max, self)")};
  c.unsupported("neither min nor max is given");
}

/// Shifts run in 64 bits. Shifts by the type's width or more, and by negative numbers, are handled first: PyTorch
/// shifts everything out.
Values shift(Builder& b, const Call& c, bool left) {
  const DType t = c.result_dtype();
  const int bits = 8 * element_size(t);
  if (left) return {lower_text(b, c, fmt::format("other < 0 || other >= {} ? 0 : self << other", bits))};
  const int upper = is_signed_integer(t) ? bits - 1 : bits;
  if (upper < 64)
    return {lower_text(b, c, fmt::format("self >> (other < 0 || other > {} ? {} : other)", upper, upper))};
  return {lower_text(b, c, "other < 0 || other > 63 ? 0 : self >> other")};
}
Values shift_left(Builder& b, const Call& c) {
  return shift(b, c, true);
}
Values shift_right(Builder& b, const Call& c) {
  return shift(b, c, false);
}

/// log(exp(a) + exp(b)), computed relative to the operand with the larger real part. Equal infinities stay.
Values logaddexp(Builder& b, const Call& c) {
  if (is_complex(c.result_dtype())) {
    return {lower_text(b, c,
                       "first = real(self) >= real(other); high = first ? self : other; low = first ? other : self; "
                       "isinf(high) && high == low ? high : high + log1p(exp(low - high))")};
  }
  return {lower_text(b, c, "isinf(self) && self == other ? self : max(self, other) + log1p(exp(-abs(self - other)))")};
}
Values logaddexp2(Builder& b, const Call& c) {
  if (is_complex(c.result_dtype())) {
    return {lower_text(b, c,
                       "first = real(self) >= real(other); high = first ? self : other; low = first ? other : self; "
                       "isinf(high) && high == low ? high : high + log1p(exp2(low - high)) / 0.69314718055994530942")};
  }
  return {lower_text(b, c,
                     "isinf(self) && self == other ? self : "
                     "max(self, other) + log1p(exp2(-abs(self - other))) / 0.69314718055994530942")};
}

Values isclose(Builder& b, const Call& c) {
  const bool equal_nan = c.flag_or("equal_nan", false);
  const DType common = common_dtype(b, c, {"self", "other"});
  std::string text = "self == other";
  if (equal_nan && !is_integral(common)) text += " || (isnan(self) && isnan(other))";
  if (c.number("rtol") != 0 || c.number("atol") != 0) {
    text += " || (abs(self - other) < inf && abs(self - other) <= atol + abs(rtol * other))";
  }
  return {lower_text(b, c, text, ComputeIn::floating)};
}

/// PyTorch rounds each step to the 16-bit types.
Values logit(Builder& b, const Call& c) {
  if (!c.has_argument("eps") || c.number("eps") < 0) {
    return {lower_text(b, c, "log(rounded(self / rounded(1 - self)))")};
  }
  return {lower_text(b, c, "z = self < eps ? eps : self > 1 - eps ? 1 - eps : self; log(rounded(z / rounded(1 - z)))")};
}

/// sum of lgamma(self - i / 2) for i below p, and p (p - 1) / 4 log(pi)
Values mvlgamma(Builder& b, const Call& c) {
  const std::int64_t p = c.integer("p");
  if (p < 1 || p > 100) c.unsupported(fmt::format("p is {}", p));
  std::string text = fmt::format("{:.17g}", 1.1447298858494001741 * static_cast<double>(p * (p - 1)) / 4);
  for (std::int64_t i = 0; i < p; ++i) text += fmt::format(" + lgamma(self - {:.1f})", static_cast<double>(i) / 2);
  return {lower_text(b, c, text)};
}

/// Cumulative distribution of the standard normal law. PyTorch uses the plain formula for 16-bit types and rounds each
/// step.
Values ndtr(Builder& b, const Call& c) {
  if (element_size(c.result_dtype()) == 2) {
    return {lower_text(b, c, "rounded(1 + rounded(erf(rounded(self * 0.70710678118654752440)))) / 2")};
  }
  return {lower_text(b, c, "x = self * 0.70710678118654752440; x < -1 ? erfc(-x) / 2 : (1 + erf(x)) / 2")};
}

/// Mantissa and exponent.
Values frexp(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const DType compute = compute_type(b.dtype(x));
  return {b.expr("frexp_mantissa(x)", {{"x", x}}, compute, c.result_dtype(0)),
          b.expr("frexp_exponent(x)", {{"x", x}}, compute, c.result_dtype(1))};
}

/// 16-bit types step on their own grid: the bits, ordered from the most negative number up, plus or minus 1.
Values nextafter(Builder& b, const Call& c) {
  const DType t = c.result_dtype();
  if (t == DType::f32 || t == DType::f64) return {lower_text(b, c, "nextafter(self, other)")};
  const auto bits = [&](ArgumentName name) {
    return b.add(Op::bitcast, {b.cast(c.tensor(name), t)}, {attr_dtype(DType::i16)});
  };
  const double infinity = t == DType::f16 ? 0x7c00 : 0x7f80;
  const ValueId next = b.expr(
      "a = from & 32767; b = to & 32767; x = from < 0 ? -a : a; y = to < 0 ? -b : b; n = y > x ? x + 1 : x - 1; "
      "a > infinity || b > infinity ? 32767 : x == y ? to : n < 0 ? -n - 32768 : n",
      {{"from", bits("self")}, {"to", bits("other")}, {"infinity", infinity}}, DType::i16);
  return {b.add(Op::bitcast, {next}, {attr_dtype(t)})};
}

/// beta * self + alpha * (vec1 as a column) * (vec2 as a row)
Values addr(Builder& b, const Call& c) {
  const DType t = c.result_dtype();
  const ValueId column = b.unsqueeze(c.tensor("vec1"), 1);
  const ValueId row = b.unsqueeze(c.tensor("vec2"), 0);
  const ExprArg beta = expr_arg(b, c, "beta");
  // A beta of zero ignores self, NaN included.
  const bool zero = beta.value == kNoValue && beta.number == std::complex<double>(0);
  std::vector<ExprArg> args = {{"column", column}, {"row", row}, expr_arg(b, c, "alpha")};
  if (zero) {
    const ValueId x = b.expr("rounded(rounded(alpha) * column) * row", args, t);
    return {b.expand(x, {b.size(column, 0), b.size(row, 1)})};
  }
  args.push_back({"self", c.tensor("self")});
  args.push_back(beta);
  return {b.expr("rounded(rounded(beta) * self) + rounded(rounded(rounded(alpha) * column) * row)", args, t)};
}

Values fill(Builder& b, const Call& c) {
  const ExprArg value = expr_arg(b, c, "value");
  const ValueId self = c.tensor("self");
  if (value.value == kNoValue) return {b.full(b.shape(self), value.number, b.dtype(self))};
  return {b.expand(convert_to(b, c, value.value, b.dtype(self)), b.shape(self))};
}
Values zero(Builder& b, const Call& c) {
  return {b.full(b.shape(c.tensor("self")), 0.0, b.dtype(c.tensor("self")))};
}

constexpr std::array kArithmeticLowerings = {
    Lowering{"aten.div.Tensor_mode", div_mode},
    Lowering{"aten.div.Scalar_mode", div_mode},
    Lowering{"aten.divide.Tensor_mode", div_mode},
    Lowering{"aten.divide.Scalar_mode", div_mode},
    Lowering{"aten.floor_divide.default", floor_divide},
    Lowering{"aten.floor_divide.Tensor", floor_divide},
    Lowering{"aten.floor_divide.Scalar", floor_divide},
    Lowering{"aten.ldexp.default", ldexp},
    Lowering{"aten.ldexp.Tensor", ldexp},
    Lowering{"aten.pow.Tensor_Scalar", pow_scalar},
    Lowering{"aten.clamp.default", clamp},
    Lowering{"aten.clamp.Tensor", clamp},
    Lowering{"aten.clip.default", clamp},
    Lowering{"aten.clip.Tensor", clamp},
    Lowering{"aten.clamp_min.default", clamp},
    Lowering{"aten.clamp_min.Tensor", clamp},
    Lowering{"aten.clamp_max.default", clamp},
    Lowering{"aten.clamp_max.Tensor", clamp},
    Lowering{"aten.bitwise_left_shift.Tensor", shift_left},
    Lowering{"aten.bitwise_left_shift.Tensor_Scalar", shift_left},
    Lowering{"aten.bitwise_left_shift.Scalar_Tensor", shift_left},
    Lowering{"aten.__lshift__.Tensor", shift_left},
    Lowering{"aten.__lshift__.Scalar", shift_left},
    Lowering{"aten.bitwise_right_shift.Tensor", shift_right},
    Lowering{"aten.bitwise_right_shift.Tensor_Scalar", shift_right},
    Lowering{"aten.bitwise_right_shift.Scalar_Tensor", shift_right},
    Lowering{"aten.__rshift__.Tensor", shift_right},
    Lowering{"aten.__rshift__.Scalar", shift_right},
    Lowering{"aten.logaddexp.default", logaddexp},
    Lowering{"aten.logaddexp2.default", logaddexp2},
    Lowering{"aten.isclose.default", isclose},
    Lowering{"aten.logit.default", logit},
    Lowering{"aten.special_logit.default", logit},
    Lowering{"aten.mvlgamma.default", mvlgamma},
    Lowering{"aten.special_multigammaln.default", mvlgamma},
    Lowering{"aten.special_ndtr.default", ndtr},
    Lowering{"aten.frexp.Tensor", frexp},
    Lowering{"aten.nextafter.default", nextafter},
    Lowering{"aten.addr.default", addr},
    Lowering{"aten.fill.Scalar", fill},
    Lowering{"aten.fill.Tensor", fill},
    Lowering{"aten.zero.default", zero},
};

}  // namespace

std::span<const Lowering> arithmetic_lowerings() {
  return kArithmeticLowerings;
}

}  // namespace tern
