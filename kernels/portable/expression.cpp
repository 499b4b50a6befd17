#include <fmt/format.h>
#include <tern/error.h>

#include <array>
#include <string_view>

#include "kernels/portable/pointwise.h"

namespace tern::portable {
namespace {

struct OperatorText {
  Scalar op;
  std::string_view text;  ///< {0}, {1}, {2}: the operands
};

// Operators, and functions with the same name in all languages, for floating types ...
constexpr OperatorText kFloatTexts[] = {
    {Scalar::add, "({0} + {1})"},
    {Scalar::sub, "({0} - {1})"},
    {Scalar::mul, "({0} * {1})"},
    {Scalar::div, "({0} / {1})"},
    {Scalar::neg, "(-{0})"},
    {Scalar::fma, "fma({0}, {1}, {2})"},
    {Scalar::abs, "fabs({0})"},
    {Scalar::fmod, "fmod({0}, {1})"},
    {Scalar::floor, "floor({0})"},
    {Scalar::ceil, "ceil({0})"},
    {Scalar::trunc, "trunc({0})"},
    {Scalar::round, "rint({0})"},
    {Scalar::copysign, "copysign({0}, {1})"},
    {Scalar::nextafter, "nextafter({0}, {1})"},
    {Scalar::sqrt, "sqrt({0})"},
    {Scalar::isnan, "(tern_boolean)({0} != {0})"},
    {Scalar::conj, "{0}"},
    {Scalar::real, "{0}"},
};
// ... for integers ...
constexpr OperatorText kIntegerTexts[] = {
    {Scalar::and_, "({0} & {1})"},
    {Scalar::or_, "({0} | {1})"},
    {Scalar::xor_, "({0} ^ {1})"},
    {Scalar::not_, "(~{0})"},
    {Scalar::floor, "{0}"},
    {Scalar::ceil, "{0}"},
    {Scalar::trunc, "{0}"},
    {Scalar::round, "{0}"},
    {Scalar::isnan, "(tern_boolean)0"},
    {Scalar::isinf, "(tern_boolean)0"},
    {Scalar::conj, "{0}"},
};
// ... for booleans (0 or 1) ...
constexpr OperatorText kBooleanTexts[] = {
    {Scalar::add, "(tern_boolean)({0} | {1})"},  {Scalar::max, "(tern_boolean)({0} | {1})"},
    {Scalar::fmax, "(tern_boolean)({0} | {1})"}, {Scalar::fmin, "(tern_boolean)({0} & {1})"},
    {Scalar::mul, "(tern_boolean)({0} & {1})"},  {Scalar::min, "(tern_boolean)({0} & {1})"},
    {Scalar::and_, "(tern_boolean)({0} & {1})"}, {Scalar::or_, "(tern_boolean)({0} | {1})"},
    {Scalar::xor_, "(tern_boolean)({0} ^ {1})"}, {Scalar::not_, "(tern_boolean)({0} ^ 1)"},
};
// ... for complex numbers ...
constexpr OperatorText kComplexTexts[] = {
    {Scalar::real, "({0}).x"},
    {Scalar::imag, "({0}).y"},
};
// ... and for all types except complex.
constexpr OperatorText kOrderTexts[] = {
    {Scalar::eq, "(tern_boolean)({0} == {1})"}, {Scalar::ne, "(tern_boolean)({0} != {1})"},
    {Scalar::lt, "(tern_boolean)({0} < {1})"},  {Scalar::le, "(tern_boolean)({0} <= {1})"},
    {Scalar::gt, "(tern_boolean)({0} > {1})"},  {Scalar::ge, "(tern_boolean)({0} >= {1})"},
};

std::string_view find(std::span<const OperatorText> texts, Scalar op) {
  for (const OperatorText& f : texts) {
    if (f.op == op) return f.text;
  }
  return {};
}

/// True for functions of text/*_math.inc.
bool is_math(Scalar op) {
  return op == Scalar::pow || op == Scalar::hypot || op == Scalar::atan2 ||
         (op >= Scalar::exp && op <= Scalar::sigmoid) || op == Scalar::erf || op == Scalar::erfc;
}
/// True for functions available only for double (text/special.inc).
bool is_special(Scalar op) {
  return op >= Scalar::erfinv && op <= Scalar::airy_ai;
}
bool is_polynomial(Scalar op) {
  return op >= Scalar::chebyshev_t && op <= Scalar::legendre_p;
}

std::string fill(std::string_view form, const std::array<std::string, 3>& operands) {
  std::string text(form);
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const std::string hole = "{" + std::to_string(k) + "}";
    for (std::size_t at = text.find(hole); at != std::string::npos; at = text.find(hole, at + operands[k].size()))
      text.replace(at, hole.size(), operands[k]);
  }
  return text;
}

class Emitter {
 public:
  Emitter(KernelSource& source, const PointwiseExpr& expr, std::span<const std::string> loads,
          std::span<const std::string> positions)
      : source_(source), code_(expr.code), loads_(loads), positions_(positions) {}

  std::string run() {
    std::string text;
    for (std::size_t i = 0; i < code_.size(); ++i)
      text += fmt::format("const {} v{} = {};\n", c_type(code_[i].dtype), i, value(code_[i]));
    return text;
  }

 private:
  static std::string name(std::uint16_t i) { return "v" + std::to_string(i); }

  std::string value(const Instruction& i) {
    switch (i.op) {
      case Scalar::load: return loads_[static_cast<std::size_t>(i.integer)];
      case Scalar::index: return positions_[static_cast<std::size_t>(i.integer)];
      case Scalar::constant:
        return is_floating(i.dtype) || is_complex(i.dtype) ? literal(i.dtype, i.number, i.imaginary)
                                                           : literal(i.dtype, i.integer);
      case Scalar::convert:
        return converted(code_[i.a].dtype, i.dtype, name(i.a), i.integer != 0 ? Overflow::saturate : Overflow::to_nan);
      case Scalar::bitcast: return bitcast(code_[i.a].dtype, i.dtype, name(i.a));
      case Scalar::where: return fmt::format("({} != 0 ? {} : {})", name(i.a), name(i.b), name(i.c));
      case Scalar::complex: return fmt::format("tern_make_{}({}, {})", type_name(i.dtype), name(i.a), name(i.b));
      default: return arithmetic(i);
    }
  }

  std::string bitcast(DType from, DType to, const std::string& v) const {
    auto bits = [](DType t) { return t == DType::f32 || t == DType::f64; };
    std::string x = bits(from) ? fmt::format("tern_bits_{}({})", type_name(from), v) : v;
    return bits(to) ? fmt::format("tern_{}_of({})", type_name(to), x) : fmt::format("({})({})", c_type(to), x);
  }

  std::string arithmetic(const Instruction& i) {
    const int operands = scalar_info(i.op).operands;
    const DType t = code_[i.a].dtype;
    const std::array<std::string, 3> names{name(i.a), operands > 1 ? name(i.b) : "", operands > 2 ? name(i.c) : ""};
    std::string_view form;
    if (is_complex(t)) {
      form = find(kComplexTexts, i.op);
    } else {
      form = is_floating(t)        ? find(kFloatTexts, i.op)
             : t == DType::boolean ? find(kBooleanTexts, i.op)
                                   : find(kIntegerTexts, i.op);
      if (form.empty()) form = find(kOrderTexts, i.op);
    }
    if (!form.empty()) return fill(form, names);
    std::string arguments = names[0];
    for (int k = 1; k < operands; ++k) arguments += ", " + names[static_cast<std::size_t>(k)];
    const std::string_view op = scalar_info(i.op).name;
    if (is_special(i.op)) {
      source_.add_library("special");
      if (t == DType::f64) return fmt::format("tern_{}_f64({})", op, arguments);
      arguments = "(double)" + names[0];
      for (int k = 1; k < operands; ++k) arguments += ", (double)" + names[static_cast<std::size_t>(k)];
      // Close to a pole PyTorch's float results come from a rounded product with pi.
      return fmt::format("(float)tern_{}_f64({})", i.op == Scalar::polygamma ? "polygamma_float" : op, arguments);
    }
    source_.add_library(is_math(i.op) && is_floating(t) ? std::string("math")
                        : is_polynomial(i.op)           ? std::string("polynomials:") + type_name(t)
                        : is_complex(t)                 ? std::string("complex:") + type_name(t)
                        : is_floating(t)                ? std::string("floats:") + type_name(t)
                                                        : std::string("integers"));
    return fmt::format("tern_{}_{}({})", op, type_name(t), arguments);
  }

  KernelSource& source_;
  const std::vector<Instruction>& code_;
  std::span<const std::string> loads_, positions_;
};

}  // namespace

std::string emit_expression(KernelSource& source, const PointwiseExpr& expr, std::span<const std::string> loads,
                            std::span<const std::string> positions, std::string* result) {
  *result = fmt::format("v{}", expr.code.size() - 1);
  return Emitter(source, expr, loads, positions).run();
}

}  // namespace tern::portable
