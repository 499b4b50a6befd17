// Gradients of pointwise expressions. Each operand has an expression of its own, computing the derivative from the
// operands, the result (for derivatives in terms of the result), and the result's gradient.
#include <cctype>
#include <optional>

#include "exporter/gradients/detach.h"
#include "exporter/gradients/operator_slopes.h"
#include "exporter/gradients/rule.h"
#include "exporter/gradients/scalar_slopes.h"
#include "exporter/gradients/slope.h"

namespace tern {
namespace {

using Ref = Instructions::Ref;

bool is_number(DType t) {
  return is_floating(t) || is_complex(t);
}

/// Derivative by an operand z: d/dz for a real operand, two derivatives for a complex operand. A real value's second
/// derivative is the conjugate of its first.
struct Slopes {
  Slope dz = Slope::zero(), dzbar = Slope::zero();
};

class OperandGradient {
 public:
  OperandGradient(GradientCall& c, std::size_t operand)
      : c_(c),
        forward_code_(c.node.expr.code),
        operand_(operand),
        type_(c.b.dtype(c.operand(operand))),
        complex_(is_complex(type_)),
        flat_at_zero_(is_flat_at_zero(c.operator_name())),
        forward_(forward_code_.size()),
        slopes_(forward_code_.size()) {
    find_formula();
  }

  void add_gradient() {
    const std::size_t last = forward_code_.size() - 1;
    const Slopes s = slopes(last);
    const DType t = forward_code_[last].dtype;
    const Ref g = code_.load(kGradient, t);
    Slope total = s.dz.component(code_, Scalar::conj).times(code_, g);
    if (complex_ && is_complex(t)) {
      total = total.plus(code_, s.dzbar.times(code_, code_.component(Scalar::conj, g)));
    } else if (complex_) {
      total = total.scaled(code_, 2);
    } else {
      total = total.component(code_, Scalar::real);
    }
    if (total.is_zero()) return;
    if (s.dz.is_one() && t == type_ && s.dzbar.is_zero() && complex_ == is_complex(t))
      return c_.add_gradient(operand_, c_.grad(0));
    const DType compute_dtype = wider_dtype(compute_type(type_), compute_type(t));
    Ref result = total.materialize(code_, complex_ ? compute_dtype : part_type(compute_dtype));
    // A sum over broadcast axes follows: round afterwards.
    if (c_.b.shape(c_.operand(operand_)) == c_.b.shape(c_.grad(0))) result = code_.convert(result, type_);
    std::vector<std::size_t> inputs;
    Node n;
    n.op = Op::pointwise;
    n.expr = code_.finish(result, &inputs);
    for (std::size_t i : inputs)
      n.inputs.push_back(i == kGradient ? c_.grad(0) : i == kResult ? c_.result(0) : c_.operand(i));
    c_.add_gradient(operand_, c_.b.add(std::move(n)).front());
  }

 private:
  static constexpr std::size_t kGradient = 1U << 20, kResult = kGradient + 1;

  /// Instructions covered by the operator's own derivatives.
  struct OperatorFormula {
    const OperatorSlope* slope = nullptr;
    std::size_t core = 0, argument = 0, factor = 0;
  };
  void find_formula() {
    OperatorFormula formula{find_operator_slope(c_.operator_name())};
    if (formula.slope == nullptr) return;
    bool core = false, product = false;
    std::optional<std::size_t> log;
    for (std::size_t k = 0; k < forward_code_.size(); ++k) {
      const Instruction& i = forward_code_[k];
      if (i.op == formula.slope->core && !is_complex(i.dtype)) {
        formula.core = k;
        core = true;
      }
      if (i.op == formula.slope->log) log = k;
      if (i.op != Scalar::mul || !log) continue;
      // Matches the logarithm itself, or a bounded logarithm.
      const bool bounded = forward_code_[i.b].op == Scalar::max && forward_code_[i.b].a == *log;
      if (i.b != *log && !bounded) continue;
      formula.argument = forward_code_[*log].a;
      formula.factor = i.a;
      product = true;
    }
    if (core && product) formula_ = formula;
  }
  Slopes formula_slopes() {
    const Ref x = forward(formula_->argument), f = forward(formula_->factor);
    const auto operand_slopes = [&](std::size_t k, std::string_view text) {
      return text.empty() || !depends(k) ? Slopes{} : times(k, code_.text(text, {{"x", x}, {"f", f}}));
    };
    return add_slopes(operand_slopes(formula_->argument, formula_->slope->argument_slope),
                      operand_slopes(formula_->factor, formula_->slope->factor_slope));
  }

  /// The value of an instruction of the forward expression.
  Ref forward(std::size_t k) {
    if (forward_[k]) return *forward_[k];
    Instruction i = forward_code_[k];
    const int operands = scalar_info(i.op).operands;
    Ref ref = 0;
    if (k + 1 == forward_code_.size() && operands > 0 && compute_type(i.dtype) == i.dtype) {
      ref = code_.load(kResult, i.dtype);
    } else {
      if (operands > 0) i.a = forward(i.a);
      if (operands > 1) i.b = forward(i.b);
      if (operands > 2) i.c = forward(i.c);
      ref = code_.push(i);
    }
    forward_[k] = ref;
    return ref;
  }

  const Slopes& slopes(std::size_t k) {
    if (!slopes_[k]) slopes_[k] = is_number(forward_code_[k].dtype) ? compute_slopes(k) : Slopes{};
    return *slopes_[k];
  }
  Slope dz(std::size_t k) { return slopes(k).dz; }
  /// Derivative by the conjugate of a complex operand.
  Slope dzbar(std::size_t k) {
    if (!complex_) return Slope::zero();
    return is_complex(forward_code_[k].dtype) ? slopes(k).dzbar : dz(k).component(code_, Scalar::conj);
  }
  bool depends(std::size_t k) { return !dz(k).is_zero() || !dzbar(k).is_zero(); }

  Slopes times(std::size_t k, Ref factor) { return {dz(k).times(code_, factor), stored_bar(k).times(code_, factor)}; }
  Slopes scaled(std::size_t k, double factor) {
    return {dz(k).scaled(code_, factor), stored_bar(k).scaled(code_, factor)};
  }
  Slopes add_slopes(const Slopes& a, const Slopes& b) { return {a.dz.plus(code_, b.dz), a.dzbar.plus(code_, b.dzbar)}; }
  Slopes choice(Ref condition, const Slopes& a, const Slopes& b) {
    return {Slope::choice(condition, a.dz, b.dz), Slope::choice(condition, a.dzbar, b.dzbar)};
  }
  Slope stored_bar(std::size_t k) { return is_complex(forward_code_[k].dtype) ? slopes(k).dzbar : Slope::zero(); }
  Ref compare(Scalar op, Ref a, Ref b) { return code_.emit(op, DType::boolean, a, b); }

  Slopes compute_slopes(std::size_t k) {
    if (formula_ && formula_->core == k) return formula_slopes();
    const Instruction& i = forward_code_[k];
    switch (i.op) {
      case Scalar::load:
        if (static_cast<std::size_t>(i.integer) != operand_) return {};
        return {Slope::one(), Slope::zero()};
      case Scalar::constant:
      case Scalar::index: return {};
      case Scalar::convert: return convert(i);
      case Scalar::where:
        return depends(i.b) || depends(i.c) ? choice(forward(i.a), slopes(i.b), slopes(i.c)) : Slopes{};
      case Scalar::min:
      case Scalar::max: return extreme(k);
      case Scalar::fmin:
      case Scalar::fmax: return number_wins(i);
      case Scalar::fma:
        return add_slopes(add_slopes(depends(i.a) ? times(i.a, forward(i.b)) : Slopes{},
                                     depends(i.b) ? times(i.b, forward(i.a)) : Slopes{}),
                          slopes(i.c));
      case Scalar::real:
      case Scalar::imag:
      case Scalar::conj:
      case Scalar::complex:
      case Scalar::angle:
      case Scalar::sgn:
      case Scalar::abs: return component_slopes(i);
      case Scalar::log1p:
        if (forward_code_[i.a].op == Scalar::exp && depends(i.a)) {  // log(1 + e^u) has e^u / (1 + e^u): no overflow
          const std::size_t u = forward_code_[i.a].a;
          return times(u, code_.emit(Scalar::sigmoid, i.dtype, forward(u)));
        }
        break;
      case Scalar::div:
        if (const auto n = logistic_exponent(i.b)) return divided_by_logistic(i, *n);
        break;
      default: break;
    }
    return table_slopes(k);
  }

  Slopes table_slopes(std::size_t k) {
    const Instruction& i = forward_code_[k];
    const ScalarSlope* row = find_scalar_slope(i.op);
    if (row == nullptr) return {};  // integers and booleans
    Slopes total;
    for (int operand_index = 0; operand_index < scalar_info(i.op).operands; ++operand_index) {
      const std::size_t x = operand_index == 0 ? i.a : i.b;
      if (!depends(x)) continue;
      std::string_view text = operand_index == 0 ? row->slope_a : row->slope_b;
      const std::string_view complex_text = operand_index == 0 ? row->complex_a : row->complex_b;
      if (is_complex(i.dtype) && !complex_text.empty()) text = complex_text;
      if (flat_at_zero_ && i.op == Scalar::sqrt) text = "r == 0 ? 0 : 0.5 / r";
      if (flat_at_zero_ && i.op == Scalar::pow && operand_index == 0) text = "a == 0 ? 0 : b * pow(a, b - 1)";
      if (text == "0") continue;
      if (text.empty()) {
        c_.refuse("PyTorch has none for " + std::string(scalar_info(i.op).name) + " of this operand");
      }
      total = add_slopes(total, text == "1" ? slopes(x) : text == "-1" ? scaled(x, -1) : times(x, derivative(k, text)));
    }
    return total;
  }

  /// Evaluates the text over the operands and the result, computing only the named ones.
  Ref derivative(std::size_t k, std::string_view text) {
    const Instruction& i = forward_code_[k];
    const auto names = [&](char name) { return has_word(text, name); };
    const bool binary = scalar_info(i.op).operands > 1;
    const Ref placeholder = names('a') ? forward(i.a) : names('r') ? forward(k) : forward(i.b);
    return code_.text(text, {{"a", names('a') ? forward(i.a) : placeholder},
                             {"b", binary && names('b') ? forward(i.b) : placeholder},
                             {"r", names('r') ? forward(k) : placeholder}});
  }
  static bool has_word(std::string_view text, char word) {
    const auto letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    for (std::size_t i = 0; i < text.size(); ++i) {
      const bool is_word_begin = i == 0 || !letter(text[i - 1]),
                 is_word_end = i + 1 == text.size() || !letter(text[i + 1]);
      if (text[i] == word && is_word_begin && is_word_end) return true;
    }
    return false;
  }

  Slopes convert(const Instruction& i) {
    const DType source_dtype = forward_code_[i.a].dtype;
    if (!is_number(source_dtype)) return {};
    if (is_complex(source_dtype) && !is_complex(i.dtype)) return real_part(i.a);
    if (!is_complex(source_dtype) && is_complex(i.dtype)) return {dz(i.a), dzbar(i.a)};
    return slopes(i.a);
  }

  /// A number known at export.
  bool is_fixed(std::size_t k) const {
    return forward_code_[k].op == Scalar::constant ||
           (forward_code_[k].op == Scalar::convert && is_fixed(forward_code_[k].a));
  }

  Slopes extreme(std::size_t index) {
    const Instruction& i = forward_code_[index];
    const bool first = depends(i.a), second = depends(i.b);
    if (!first && !second) return {};
    const Ref a = forward(i.a), b = forward(i.b);
    const bool is_max = i.op == Scalar::max;
    const Scalar worse = is_max ? Scalar::lt : Scalar::gt, better = is_max ? Scalar::gt : Scalar::lt;
    const bool bounded = is_fixed(i.a) || is_fixed(i.b);
    const Ties ties = ties_of(c_.operator_name(), bounded);
    Slopes total;
    for (int operand_index = 0; operand_index < 2; ++operand_index) {
      if (!(operand_index == 0 ? first : second)) continue;
      const std::size_t k = operand_index == 0 ? i.a : i.b;
      const Ref mine = operand_index == 0 ? a : b, other = operand_index == 0 ? b : a;
      const Ref loses = compare(worse, mine, other);
      Slopes slope = slopes(k);
      if (ties == Ties::split) {
        slope = choice(loses, {}, choice(compare(Scalar::eq, mine, other), scaled(k, 0.5), slope));
      } else if (ties == Ties::inclusive) {
        const bool at_bound = bounded || operand_index == 0;
        const Scalar passes_gradient = !at_bound ? better : is_max ? Scalar::ge : Scalar::le;
        slope = choice(compare(passes_gradient, mine, other), slope, {});
      } else {  // the bound wins, but a NaN has the gradient of the operand
        const Ref x =
            index + 1 == forward_code_.size() ? forward(index) : mine;  // the result serves for the comparison too
        const Ref wins = compare(better, x, other);
        const Ref keeps_slope =
            code_.emit(Scalar::or_, DType::boolean, wins, code_.emit(Scalar::isnan, DType::boolean, x));
        slope = choice(keeps_slope, slope, {});
      }
      total = add_slopes(total, slope);
    }
    return total;
  }

  /// fmax and fmin choose the second operand if larger, or if the first is NaN.
  Slopes number_wins(const Instruction& i) {
    if (!depends(i.a) && !depends(i.b)) return {};
    const Ref a = forward(i.a), b = forward(i.b);
    const Ref better = compare(i.op == Scalar::fmax ? Scalar::ge : Scalar::le, a, b);
    const Ref alone = code_.emit(Scalar::isnan, DType::boolean, b);
    return choice(code_.emit(Scalar::or_, DType::boolean, better, alone), slopes(i.a), slopes(i.b));
  }

  /// Returns n for an instruction 1 + exp(n): the logistic function's denominator.
  std::optional<std::size_t> logistic_exponent(std::size_t k) const {
    const Instruction& i = forward_code_[k];
    if (i.op != Scalar::add || is_complex(i.dtype)) return std::nullopt;
    const auto is_one = [&](std::size_t x) {
      return forward_code_[x].op == Scalar::constant && forward_code_[x].number == 1;
    };
    if (is_one(i.a) && forward_code_[i.b].op == Scalar::exp) return forward_code_[i.b].a;
    if (is_one(i.b) && forward_code_[i.a].op == Scalar::exp) return forward_code_[i.a].a;
    return std::nullopt;
  }
  /// a / (1 + e^n) = a s with s = sigmoid(-n), and derivative -s (1 - s) by n: no overflow.
  Slopes divided_by_logistic(const Instruction& i, std::size_t n) {
    if (!depends(i.a) && !depends(n)) return {};
    const Ref s = code_.emit(Scalar::sigmoid, i.dtype, code_.emit(Scalar::neg, i.dtype, forward(n)));
    Slopes total = depends(i.a) ? times(i.a, s) : Slopes{};
    if (depends(n))
      total = add_slopes(total, times(n, code_.text("-a * s * (1 - s)", {{"a", forward(i.a)}, {"s", s}})));
    return total;
  }

  /// d re(f) = (f_z + conj(f_zbar)) / 2 dz + conjugate.
  Slopes real_part(std::size_t k) {
    if (!complex_) return {dz(k).component(code_, Scalar::real), Slope::zero()};
    return {dz(k).plus(code_, dzbar(k).component(code_, Scalar::conj)).scaled(code_, 0.5), Slope::zero()};
  }
  Slopes imaginary_part(std::size_t k) {
    if (!complex_) return {dz(k).component(code_, Scalar::imag), Slope::zero()};
    const Slope conjugate_part = dzbar(k).component(code_, Scalar::conj).scaled(code_, -1);
    return {dz(k).plus(code_, conjugate_part).scaled(code_, {0, -0.5}), Slope::zero()};
  }
  /// d re(conj(s) f), for a factor s.
  Slopes real_part_along(std::size_t k, Ref s) {
    const Ref conj = code_.component(Scalar::conj, s);
    if (!complex_) return {dz(k).times(code_, conj).component(code_, Scalar::real), Slope::zero()};
    const Slope conjugate_slope = dzbar(k).component(code_, Scalar::conj).times(code_, s);
    return {dz(k).times(code_, conj).plus(code_, conjugate_slope).scaled(code_, 0.5), Slope::zero()};
  }

  Slopes component_slopes(const Instruction& i) {
    const std::size_t a = i.a;
    const bool binary = i.op == Scalar::complex;
    if (!depends(a) && !(binary && depends(i.b))) return {};
    const DType t = forward_code_[a].dtype;
    switch (i.op) {
      case Scalar::real: return real_part(a);
      case Scalar::imag: return imaginary_part(a);
      case Scalar::conj:
        if (!complex_) return {dz(a).component(code_, Scalar::conj), Slope::zero()};
        return {dzbar(a).component(code_, Scalar::conj), dz(a).component(code_, Scalar::conj)};
      case Scalar::complex:
        return {dz(a).plus(code_, dz(i.b).scaled(code_, {0, 1})),
                dzbar(a).plus(code_, dzbar(i.b).scaled(code_, {0, 1}))};
      case Scalar::abs:
        if (!is_complex(t)) return times(a, code_.emit(Scalar::sign, t, forward(a)));
        return real_part_along(a, code_.emit(Scalar::sgn, t, forward(a)));
      case Scalar::angle: {  // Im(df / f)
        if (!is_complex(t)) return {};
        const Ref f = forward(a);
        const Ref along = code_.text("x == 0 ? 0 : conj(reciprocal(x))", {{"x", f}});
        return real_part_along(a, code_.mul(along, code_.constant({0, 1}, t)));
      }
      default: break;
    }
    if (!is_complex(t)) return {};  // sgn: (df - s re(conj(s) df)) / |f|
    const Ref f = forward(a), s = code_.emit(Scalar::sgn, t, f);
    const Slope along = real_part_along(a, s).dz;
    const Ref scale = code_.text("x == 0 ? 0 : 1 / abs(x)", {{"x", f}});
    const Slope conjugate_slope = complex_ ? along.component(code_, Scalar::conj) : Slope::zero();
    const auto subtract_radial = [&](const Slope& total, const Slope& radial) {
      return total.plus(code_, radial.times(code_, s).scaled(code_, -1)).times(code_, scale);
    };
    return {subtract_radial(dz(a), along), subtract_radial(dzbar(a), conjugate_slope)};
  }

  GradientCall& c_;
  const std::vector<Instruction>& forward_code_;
  const std::size_t operand_;
  const DType type_;
  const bool complex_;
  const bool flat_at_zero_;
  Instructions code_;
  std::vector<std::optional<Ref>> forward_;
  std::vector<std::optional<Slopes>> slopes_;
  std::optional<OperatorFormula> formula_;
};

void pointwise(GradientCall& c) {
  // A detached node with a gradient is a view after a write; the gradient goes to the written tensor.
  if (is_detached(c.node)) return c.add_gradient(0, c.grad(0));
  if (has_no_formula(c.operator_name())) c.refuse("PyTorch has its own formula for it, and Tern has none yet");
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    if (c.needs_gradient(i)) OperandGradient(c, i).add_gradient();
  }
}

constexpr GradientEntry kPointwiseRules[] = {{Op::pointwise, pointwise}};

}  // namespace

std::span<const GradientEntry> gradients_of_pointwise() {
  return kPointwiseRules;
}

}  // namespace tern
