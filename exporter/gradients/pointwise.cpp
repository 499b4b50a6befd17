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
        in_(c.node.expr.code),
        operand_(operand),
        type_(c.b.dtype(c.in(operand))),
        complex_(is_complex(type_)),
        flat_at_zero_(is_flat_at_zero(c.operator_name())),
        forward_(in_.size()),
        slopes_(in_.size()) {
    find_formula();
  }

  void add_gradient() {
    const std::size_t last = in_.size() - 1;
    const Slopes s = slopes(last);
    const DType t = in_[last].dtype;
    const Ref g = out_.load(kGradient, t);
    Slope total = s.dz.component(out_, Scalar::conj).times(out_, g);
    if (complex_ && is_complex(t)) {
      total = total.plus(out_, s.dzbar.times(out_, out_.component(Scalar::conj, g)));
    } else if (complex_) {
      total = total.scaled(out_, 2);
    } else {
      total = total.component(out_, Scalar::real);
    }
    if (total.is_zero()) return;
    if (s.dz.is_one() && t == type_ && s.dzbar.is_zero() && complex_ == is_complex(t))
      return c_.add_gradient(operand_, c_.grad(0));
    const DType wide = wider(compute_type(type_), compute_type(t));
    Ref result = total.materialize(out_, complex_ ? wide : part_type(wide));
    // A sum over broadcast axes follows: round afterwards.
    if (c_.b.shape(c_.in(operand_)) == c_.b.shape(c_.grad(0))) result = out_.convert(result, type_);
    std::vector<std::size_t> inputs;
    Node n;
    n.op = Op::pointwise;
    n.expr = out_.finish(result, &inputs);
    for (std::size_t i : inputs) n.inputs.push_back(i == kGradient ? c_.grad(0) : i == kResult ? c_.out(0) : c_.in(i));
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
    OperatorFormula own{find_operator_slope(c_.operator_name())};
    if (own.slope == nullptr) return;
    bool core = false, product = false;
    std::optional<std::size_t> log;
    for (std::size_t k = 0; k < in_.size(); ++k) {
      const Instruction& i = in_[k];
      if (i.op == own.slope->core && !is_complex(i.dtype)) {
        own.core = k;
        core = true;
      }
      if (i.op == own.slope->log) log = k;
      if (i.op != Scalar::mul || !log) continue;
      // Matches the logarithm itself, or a bounded logarithm.
      const bool bounded = in_[i.b].op == Scalar::max && in_[i.b].a == *log;
      if (i.b != *log && !bounded) continue;
      own.argument = in_[*log].a;
      own.factor = i.a;
      product = true;
    }
    if (core && product) formula_ = own;
  }
  Slopes formula_slopes() {
    const Ref x = forward(formula_->argument), f = forward(formula_->factor);
    const auto operand_slopes = [&](std::size_t k, std::string_view text) {
      return text.empty() || !depends(k) ? Slopes{} : times(k, out_.text(text, {{"x", x}, {"f", f}}));
    };
    return plus(operand_slopes(formula_->argument, formula_->slope->argument_slope),
                operand_slopes(formula_->factor, formula_->slope->factor_slope));
  }

  /// The value of an instruction of the forward expression.
  Ref forward(std::size_t k) {
    if (forward_[k]) return *forward_[k];
    Instruction i = in_[k];
    const int operands = scalar_info(i.op).operands;
    Ref ref = 0;
    if (k + 1 == in_.size() && operands > 0 && compute_type(i.dtype) == i.dtype) {
      ref = out_.load(kResult, i.dtype);
    } else {
      if (operands > 0) i.a = forward(i.a);
      if (operands > 1) i.b = forward(i.b);
      if (operands > 2) i.c = forward(i.c);
      ref = out_.push(i);
    }
    forward_[k] = ref;
    return ref;
  }

  const Slopes& slopes(std::size_t k) {
    if (!slopes_[k]) slopes_[k] = is_number(in_[k].dtype) ? compute_slopes(k) : Slopes{};
    return *slopes_[k];
  }
  Slope dz(std::size_t k) { return slopes(k).dz; }
  /// Derivative by the conjugate of a complex operand.
  Slope dzbar(std::size_t k) {
    if (!complex_) return Slope::zero();
    return is_complex(in_[k].dtype) ? slopes(k).dzbar : dz(k).component(out_, Scalar::conj);
  }
  bool depends(std::size_t k) { return !dz(k).is_zero() || !dzbar(k).is_zero(); }

  Slopes times(std::size_t k, Ref factor) { return {dz(k).times(out_, factor), stored_bar(k).times(out_, factor)}; }
  Slopes scaled(std::size_t k, double factor) {
    return {dz(k).scaled(out_, factor), stored_bar(k).scaled(out_, factor)};
  }
  Slopes plus(const Slopes& a, const Slopes& b) { return {a.dz.plus(out_, b.dz), a.dzbar.plus(out_, b.dzbar)}; }
  Slopes choice(Ref condition, const Slopes& a, const Slopes& b) {
    return {Slope::choice(condition, a.dz, b.dz), Slope::choice(condition, a.dzbar, b.dzbar)};
  }
  Slope stored_bar(std::size_t k) { return is_complex(in_[k].dtype) ? slopes(k).dzbar : Slope::zero(); }
  Ref compare(Scalar op, Ref a, Ref b) { return out_.emit(op, DType::boolean, a, b); }

  Slopes compute_slopes(std::size_t k) {
    if (formula_ && formula_->core == k) return formula_slopes();
    const Instruction& i = in_[k];
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
        return plus(plus(depends(i.a) ? times(i.a, forward(i.b)) : Slopes{},
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
        if (in_[i.a].op == Scalar::exp && depends(i.a)) {  // log(1 + e^u) has e^u / (1 + e^u): no overflow
          const std::size_t u = in_[i.a].a;
          return times(u, out_.emit(Scalar::sigmoid, i.dtype, forward(u)));
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
    const Instruction& i = in_[k];
    const ScalarSlope* row = find_scalar_slope(i.op);
    if (row == nullptr) return {};  // integers and booleans
    Slopes total;
    for (int side = 0; side < scalar_info(i.op).operands; ++side) {
      const std::size_t x = side == 0 ? i.a : i.b;
      if (!depends(x)) continue;
      std::string_view text = side == 0 ? row->slope_a : row->slope_b;
      const std::string_view other = side == 0 ? row->complex_a : row->complex_b;
      if (is_complex(i.dtype) && !other.empty()) text = other;
      if (flat_at_zero_ && i.op == Scalar::sqrt) text = "r == 0 ? 0 : 0.5 / r";
      if (flat_at_zero_ && i.op == Scalar::pow && side == 0) text = "a == 0 ? 0 : b * pow(a, b - 1)";
      if (text == "0") continue;
      if (text.empty()) {
        c_.refuse("PyTorch has none for " + std::string(scalar_info(i.op).name) + " of this operand");
      }
      total = plus(total, text == "1" ? slopes(x) : text == "-1" ? scaled(x, -1) : times(x, derivative(k, text)));
    }
    return total;
  }

  /// Evaluates the text over the operands and the result, computing only the named ones.
  Ref derivative(std::size_t k, std::string_view text) {
    const Instruction& i = in_[k];
    const auto names = [&](char name) { return has_word(text, name); };
    const bool binary = scalar_info(i.op).operands > 1;
    const Ref any = names('a') ? forward(i.a) : names('r') ? forward(k) : forward(i.b);
    return out_.text(text, {{"a", names('a') ? forward(i.a) : any},
                            {"b", binary && names('b') ? forward(i.b) : any},
                            {"r", names('r') ? forward(k) : any}});
  }
  static bool has_word(std::string_view text, char word) {
    const auto letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
    for (std::size_t i = 0; i < text.size(); ++i) {
      const bool begins = i == 0 || !letter(text[i - 1]), ends = i + 1 == text.size() || !letter(text[i + 1]);
      if (text[i] == word && begins && ends) return true;
    }
    return false;
  }

  Slopes convert(const Instruction& i) {
    const DType from = in_[i.a].dtype;
    if (!is_number(from)) return {};
    if (is_complex(from) && !is_complex(i.dtype)) return real_part(i.a);
    if (!is_complex(from) && is_complex(i.dtype)) return {dz(i.a), dzbar(i.a)};
    return slopes(i.a);
  }

  /// A number known at export.
  bool is_fixed(std::size_t k) const {
    return in_[k].op == Scalar::constant || (in_[k].op == Scalar::convert && is_fixed(in_[k].a));
  }

  Slopes extreme(std::size_t index) {
    const Instruction& i = in_[index];
    const bool first = depends(i.a), second = depends(i.b);
    if (!first && !second) return {};
    const Ref a = forward(i.a), b = forward(i.b);
    const bool is_max = i.op == Scalar::max;
    const Scalar behind = is_max ? Scalar::lt : Scalar::gt, ahead = is_max ? Scalar::gt : Scalar::lt;
    const bool bounded = is_fixed(i.a) || is_fixed(i.b);
    const Ties ties = ties_of(c_.operator_name(), bounded);
    Slopes total;
    for (int side = 0; side < 2; ++side) {
      if (!(side == 0 ? first : second)) continue;
      const std::size_t k = side == 0 ? i.a : i.b;
      const Ref mine = side == 0 ? a : b, other = side == 0 ? b : a;
      const Ref loses = compare(behind, mine, other);
      Slopes slope = slopes(k);
      if (ties == Ties::split) {
        slope = choice(loses, {}, choice(compare(Scalar::eq, mine, other), scaled(k, 0.5), slope));
      } else if (ties == Ties::inclusive) {
        const bool at_bound = bounded || side == 0;
        const Scalar has = !at_bound ? ahead : is_max ? Scalar::ge : Scalar::le;
        slope = choice(compare(has, mine, other), slope, {});
      } else {  // the bound wins, but a NaN has the gradient of the operand
        const Ref x = index + 1 == in_.size() ? forward(index) : mine;  // the result serves for the comparison too
        const Ref wins = compare(ahead, x, other);
        const Ref keeps = out_.emit(Scalar::or_, DType::boolean, wins, out_.emit(Scalar::isnan, DType::boolean, x));
        slope = choice(keeps, slope, {});
      }
      total = plus(total, slope);
    }
    return total;
  }

  /// fmax and fmin choose the second operand if larger, or if the first is NaN.
  Slopes number_wins(const Instruction& i) {
    if (!depends(i.a) && !depends(i.b)) return {};
    const Ref a = forward(i.a), b = forward(i.b);
    const Ref ahead = compare(i.op == Scalar::fmax ? Scalar::ge : Scalar::le, a, b);
    const Ref alone = out_.emit(Scalar::isnan, DType::boolean, b);
    return choice(out_.emit(Scalar::or_, DType::boolean, ahead, alone), slopes(i.a), slopes(i.b));
  }

  /// Returns n for an instruction 1 + exp(n): the logistic function's denominator.
  std::optional<std::size_t> logistic_exponent(std::size_t k) const {
    const Instruction& i = in_[k];
    if (i.op != Scalar::add || is_complex(i.dtype)) return std::nullopt;
    const auto one = [&](std::size_t x) { return in_[x].op == Scalar::constant && in_[x].number == 1; };
    if (one(i.a) && in_[i.b].op == Scalar::exp) return in_[i.b].a;
    if (one(i.b) && in_[i.a].op == Scalar::exp) return in_[i.a].a;
    return std::nullopt;
  }
  /// a / (1 + e^n) = a s with s = sigmoid(-n), and derivative -s (1 - s) by n: no overflow.
  Slopes divided_by_logistic(const Instruction& i, std::size_t n) {
    if (!depends(i.a) && !depends(n)) return {};
    const Ref s = out_.emit(Scalar::sigmoid, i.dtype, out_.emit(Scalar::neg, i.dtype, forward(n)));
    Slopes total = depends(i.a) ? times(i.a, s) : Slopes{};
    if (depends(n)) total = plus(total, times(n, out_.text("-a * s * (1 - s)", {{"a", forward(i.a)}, {"s", s}})));
    return total;
  }

  /// d re(f) = (f_z + conj(f_zbar)) / 2 dz + conjugate.
  Slopes real_part(std::size_t k) {
    if (!complex_) return {dz(k).component(out_, Scalar::real), Slope::zero()};
    return {dz(k).plus(out_, dzbar(k).component(out_, Scalar::conj)).scaled(out_, 0.5), Slope::zero()};
  }
  Slopes imaginary_part(std::size_t k) {
    if (!complex_) return {dz(k).component(out_, Scalar::imag), Slope::zero()};
    const Slope other = dzbar(k).component(out_, Scalar::conj).scaled(out_, -1);
    return {dz(k).plus(out_, other).scaled(out_, {0, -0.5}), Slope::zero()};
  }
  /// d re(conj(s) f), for a factor s.
  Slopes real_part_along(std::size_t k, Ref s) {
    const Ref conj = out_.component(Scalar::conj, s);
    if (!complex_) return {dz(k).times(out_, conj).component(out_, Scalar::real), Slope::zero()};
    const Slope back = dzbar(k).component(out_, Scalar::conj).times(out_, s);
    return {dz(k).times(out_, conj).plus(out_, back).scaled(out_, 0.5), Slope::zero()};
  }

  Slopes component_slopes(const Instruction& i) {
    const std::size_t a = i.a;
    const bool binary = i.op == Scalar::complex;
    if (!depends(a) && !(binary && depends(i.b))) return {};
    const DType t = in_[a].dtype;
    switch (i.op) {
      case Scalar::real: return real_part(a);
      case Scalar::imag: return imaginary_part(a);
      case Scalar::conj:
        if (!complex_) return {dz(a).component(out_, Scalar::conj), Slope::zero()};
        return {dzbar(a).component(out_, Scalar::conj), dz(a).component(out_, Scalar::conj)};
      case Scalar::complex:
        return {dz(a).plus(out_, dz(i.b).scaled(out_, {0, 1})), dzbar(a).plus(out_, dzbar(i.b).scaled(out_, {0, 1}))};
      case Scalar::abs:
        if (!is_complex(t)) return times(a, out_.emit(Scalar::sign, t, forward(a)));
        return real_part_along(a, out_.emit(Scalar::sgn, t, forward(a)));
      case Scalar::angle: {  // Im(df / f)
        if (!is_complex(t)) return {};
        const Ref f = forward(a);
        const Ref along = out_.text("x == 0 ? 0 : conj(reciprocal(x))", {{"x", f}});
        return real_part_along(a, out_.mul(along, out_.constant({0, 1}, t)));
      }
      default: break;
    }
    if (!is_complex(t)) return {};  // sgn: (df - s re(conj(s) df)) / |f|
    const Ref f = forward(a), s = out_.emit(Scalar::sgn, t, f);
    const Slope along = real_part_along(a, s).dz;
    const Ref scale = out_.text("x == 0 ? 0 : 1 / abs(x)", {{"x", f}});
    const Slope back = complex_ ? along.component(out_, Scalar::conj) : Slope::zero();
    const auto off = [&](const Slope& total, const Slope& radial) {
      return total.plus(out_, radial.times(out_, s).scaled(out_, -1)).times(out_, scale);
    };
    return {off(dz(a), along), off(dzbar(a), back)};
  }

  GradientCall& c_;
  const std::vector<Instruction>& in_;
  const std::size_t operand_;
  const DType type_;
  const bool complex_;
  const bool flat_at_zero_;
  Instructions out_;
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
