#include "exporter/expr_text.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <bit>
#include <cmath>
#include <complex>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "exporter/expr_parse.h"
#include "exporter/lower/quantization.h"

namespace tern {
namespace {

using Number = std::complex<double>;
using ExprSyntaxKind = ExprSyntax::Kind;

bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

bool equal(const Instruction& x, const Instruction& y) {
  return x.op == y.op && x.dtype == y.dtype && x.a == y.a && x.b == y.b && x.c == y.c && x.integer == y.integer &&
         same_bits(x.number, y.number) && same_bits(x.imaginary, y.imaginary);
}

bool gives_boolean(Scalar op) {
  return (op >= Scalar::eq && op <= Scalar::ge) || (op >= Scalar::isnan && op <= Scalar::signbit);
}
bool gives_part(Scalar op) {
  return op == Scalar::real || op == Scalar::imag || op == Scalar::abs || op == Scalar::angle;
}
DType part_of(DType t) {
  switch (t) {
    case DType::c64: return DType::f32;
    case DType::c128: return DType::f64;
    default: return t;
  }
}
DType complex_of(DType t) {
  switch (t) {
    case DType::f32: return DType::c64;
    case DType::f64: return DType::c128;
    default: return t;
  }
}

/// True if every value of `source` survives a conversion to `target` and back: the pair of conversions is then
/// redundant.
bool represents_exactly(DType source, DType target) {
  if (source == target) return true;
  if (target == DType::f32 || target == DType::f64) {
    if (is_floating(source)) return element_size(source) < element_size(target);
    return source == DType::boolean || element_size(source) * 2 <= element_size(target);
  }
  if (is_complex(target))
    return source == DType::c32 || (!is_complex(source) && represents_exactly(source, part_of(target)));
  return target == DType::i64 && compute_type(source) == DType::i64;
}

class ExpressionCompiler {
 public:
  ExpressionCompiler(const ExprTree& tree, const std::vector<ExprArg>& args, const std::vector<DType>& inputs,
                     DType compute, DType result)
      : tree_(tree), args_(args), inputs_(inputs), compute_(compute), result_dtype_(result) {}

  PointwiseExpr compile() {
    const std::uint16_t root = emit(tree_.root, natural(tree_.root));
    const std::uint16_t last = convert(root, result_dtype_);
    keep_needed(last);
    return std::move(expression_);
  }

 private:
  const ExprSyntax& syntax(std::size_t node) const { return tree_.nodes[node]; }

  /// Value of a subexpression, if known here.
  std::optional<Number> known_value(std::size_t node) const {
    const ExprSyntax& n = syntax(node);
    if (n.kind == ExprSyntaxKind::number) return Number(n.number);
    if (n.kind == ExprSyntaxKind::name) {
      const ExprArg& a = args_[find(n.name)];
      return a.value == kNoValue ? std::optional(a.number) : std::nullopt;
    }
    if (n.kind == ExprSyntaxKind::rounded) {
      const std::optional<Number> x = known_value(n.operands[0]);
      if (compute_ == result_dtype_) return x;  // the arithmetic rounds the value; other readers see it unrounded
      return x ? std::optional<Number>({rounded_to(x->real(), result_dtype_), rounded_to(x->imag(), result_dtype_)})
               : x;
    }
    if (n.kind != ExprSyntaxKind::operation || n.operands.empty() || n.operands.size() > 2) return std::nullopt;
    const std::optional<Number> x = known_value(n.operands[0]);
    if (!x || x->imag() != 0) return std::nullopt;
    if (n.op == Scalar::neg) return Number(-x->real());
    if (n.op == Scalar::abs) return Number(std::abs(x->real()));
    if (n.operands.size() != 2) return std::nullopt;
    const std::optional<Number> y = known_value(n.operands[1]);
    if (!y || y->imag() != 0) return std::nullopt;
    switch (n.op) {
      case Scalar::add: return Number(x->real() + y->real());
      case Scalar::sub: return Number(x->real() - y->real());
      case Scalar::mul: return Number(x->real() * y->real());
      case Scalar::div: return Number(x->real() / y->real());
      default: return std::nullopt;
    }
  }

  /// The result of a comparison of real numbers in the type of the arithmetic.
  std::optional<bool> known_comparison(std::size_t node) const {
    const ExprSyntax& n = syntax(node);
    if (n.kind != ExprSyntaxKind::operation || n.operands.size() != 2) return std::nullopt;
    const std::optional<Number> x = known_value(n.operands[0]), y = known_value(n.operands[1]);
    if (!x || !y || x->imag() != 0 || y->imag() != 0) return std::nullopt;
    const DType t = part_of(compute_);
    const double a = rounded_to(x->real(), t), b = rounded_to(y->real(), t);
    switch (n.op) {
      case Scalar::lt: return a < b;
      case Scalar::le: return a <= b;
      case Scalar::gt: return a > b;
      case Scalar::ge: return a >= b;
      default: return std::nullopt;
    }
  }

  std::size_t find(std::string_view name) const {
    for (std::size_t i = 0; i < args_.size(); ++i) {
      if (args_[i].name == name) return i;
    }
    fail(ErrorCode::internal, fmt::format("expression: no operand '{}'", name));
  }

  /// Type of a subexpression before its reader's conversion. Numbers adapt: their type is the narrowest,
  /// part_of(compute_).
  DType natural(std::size_t node) const {
    const ExprSyntax& n = syntax(node);
    if (const std::optional<Number> v = known_value(node)) return v->imag() != 0 ? compute_ : part_of(compute_);
    switch (n.kind) {
      case ExprSyntaxKind::name: return compute_;
      case ExprSyntaxKind::boolean_and:
      case ExprSyntaxKind::boolean_or:
      case ExprSyntaxKind::boolean_not:
      case ExprSyntaxKind::to_boolean: return DType::boolean;
      case ExprSyntaxKind::rounded: return natural(n.operands[0]);
      case ExprSyntaxKind::typed: return compute_;
      default: break;
    }
    if (gives_boolean(n.op)) return DType::boolean;
    if (n.op == Scalar::index || n.op == Scalar::frexp_exponent) return DType::i64;
    if (n.op == Scalar::complex) return complex_of(compute_);
    if (gives_part(n.op)) return part_of(compute_);
    if (n.op == Scalar::where) return common(n.operands[1], n.operands[2]);
    return operand_type(n);
  }
  /// Arithmetic treats booleans and positions as numbers; real values stay real among real values.
  DType common(std::size_t x, std::size_t y) const {
    const DType a = natural(x);
    const DType b = natural(y);
    if (a == DType::boolean && b == DType::boolean) return a;
    return a == compute_ || b == compute_ || a != b || a != part_of(compute_) ? compute_ : a;
  }
  DType operand_type(const ExprSyntax& n) const {
    DType t = n.op == Scalar::complex ? part_of(compute_) : natural(n.operands[0]);
    for (std::size_t p : n.operands) {
      if (n.op != Scalar::complex && natural(p) != t) t = compute_;
    }
    const bool logic = n.op == Scalar::and_ || n.op == Scalar::or_ || n.op == Scalar::xor_ || n.op == Scalar::not_ ||
                       n.op == Scalar::eq || n.op == Scalar::ne;
    if (t == DType::boolean && !logic) return compute_;
    if (n.op == Scalar::real || n.op == Scalar::imag) return compute_;
    return t == DType::boolean || t == part_of(compute_) ? t : compute_;
  }

  std::uint16_t push(Instruction i) {
    for (std::size_t k = 0; k < expression_.code.size(); ++k) {
      if (equal(expression_.code[k], i)) return static_cast<std::uint16_t>(k);
    }
    if (expression_.code.size() >= kMaxInstructions) fail(ErrorCode::unsupported, "expression: too many instructions");
    expression_.code.push_back(i);
    return static_cast<std::uint16_t>(expression_.code.size() - 1);
  }

  std::uint16_t convert(std::uint16_t x, DType target) {
    const Instruction producer = expression_.code[x];
    if (producer.dtype == target) return x;
    if (producer.op == Scalar::convert && expression_.code[producer.a].dtype == target &&
        represents_exactly(target, producer.dtype))
      return producer.a;
    Instruction i;
    i.op = Scalar::convert;
    i.dtype = target;
    i.a = x;
    return push(i);
  }

  std::uint16_t constant(Number v, const ExprSyntax& n, DType t) {
    Instruction i;
    i.op = Scalar::constant;
    i.dtype = t;
    if (!is_complex(t) && v.imag() != 0) fail(ErrorCode::bad_file, "the expression mixes complex and real numbers");
    if (t == DType::boolean) {
      i.integer = v != Number(0);
    } else if (t == DType::i64 || t == DType::u64) {
      if (n.kind == ExprSyntaxKind::number && n.is_integer) {
        i.integer = n.integer;
      } else if (t == DType::u64 && v.real() >= 0x1p63 && v.real() < 0x1p64) {
        i.integer = static_cast<std::int64_t>(static_cast<std::uint64_t>(v.real()));
      } else {
        const bool in_range = v.real() >= -0x1p63 && v.real() < 0x1p63;  // false for NaN
        i.integer = in_range ? static_cast<std::int64_t>(v.real()) : v.real() > 0 ? INT64_MAX : INT64_MIN;
      }
    } else {
      i.number = v.real();
      i.imaginary = v.imag();
    }
    return push(i);
  }

  /// Constants exist in arithmetic types; a storage type needs a conversion.
  std::uint16_t emit_known(Number v, const ExprSyntax& n, DType t) {
    return convert(constant(v, n, compute_type(t)), t);
  }

  std::uint16_t emit(std::size_t node, DType requested) {
    const auto key = std::tuple(node, compute_, requested);
    if (const auto cached = emitted_.find(key); cached != emitted_.end()) return cached->second;
    const std::uint16_t x = emit_new(node, requested);
    emitted_.emplace(key, x);
    return x;
  }

  std::uint16_t emit_new(std::size_t node, DType requested) {
    const ExprSyntax& n = syntax(node);
    if (const std::optional<Number> v = known_value(node)) return emit_known(*v, n, requested);
    switch (n.kind) {
      case ExprSyntaxKind::name: return load(n, requested);
      case ExprSyntaxKind::boolean_and: return convert(logic(n, Scalar::and_), requested);
      case ExprSyntaxKind::boolean_or: return convert(logic(n, Scalar::or_), requested);
      case ExprSyntaxKind::boolean_not: return convert(logic(n, Scalar::not_), requested);
      case ExprSyntaxKind::to_boolean: return convert(emit(n.operands[0], DType::boolean), requested);
      case ExprSyntaxKind::rounded: {
        const DType t = natural(n.operands[0]);
        return convert(convert(convert(emit(n.operands[0], t), result_dtype_), t), requested);
      }
      case ExprSyntaxKind::typed: return convert(convert(typed(n), compute_), requested);
      default: return convert(operation(n), requested);
    }
  }

  /// The part in another type of arithmetic, rounded.
  std::uint16_t typed(const ExprSyntax& n) {
    const DType outer = std::exchange(compute_, compute_type(n.dtype));
    const std::uint16_t x = convert(emit(n.operands[0], compute_), n.dtype);
    compute_ = outer;
    return x;
  }

  std::uint16_t load(const ExprSyntax& n, DType requested) {
    const std::size_t arg = find(n.name);
    std::size_t input = 0;
    for (std::size_t i = 0; i < arg; ++i) input += args_[i].value != kNoValue;
    Instruction i;
    i.op = Scalar::load;
    i.dtype = inputs_.at(input);
    i.integer = static_cast<std::int64_t>(input);
    const std::uint16_t x = push(i);
    return requested == DType::boolean ? convert(x, requested) : convert(convert(x, compute_), requested);
  }

  std::uint16_t logic(const ExprSyntax& n, Scalar op) {
    Instruction i;
    i.op = op;
    i.dtype = DType::boolean;
    i.a = emit(n.operands[0], DType::boolean);
    if (n.operands.size() > 1) i.b = emit(n.operands[1], DType::boolean);
    return push(i);
  }

  std::uint16_t operation(const ExprSyntax& n) {
    Instruction i;
    i.op = n.op;
    if (n.op == Scalar::index) {
      i.dtype = DType::i64;
      i.integer = n.integer;
      return push(i);
    }
    if (n.op == Scalar::where) {
      i.dtype = common(n.operands[1], n.operands[2]);
      if (const std::optional<bool> is_true = known_comparison(n.operands[0]))
        return emit(n.operands[*is_true ? 1 : 2], i.dtype);
      i.a = emit(n.operands[0], DType::boolean);
      i.b = emit(n.operands[1], i.dtype);
      i.c = emit(n.operands[2], i.dtype);
      return push(i);
    }
    const DType t = operand_type(n);
    if (n.op == Scalar::mul) {  // times 1, mostly by alpha
      for (std::size_t k = 0; k < 2; ++k) {
        if (const auto v = known_value(n.operands[k]); v && *v == Number(1)) return emit(n.operands[1 - k], t);
      }
    }
    i.a = emit(n.operands[0], t);
    if (n.operands.size() > 1) i.b = emit(n.operands[1], t);
    if (n.operands.size() > 2) i.c = emit(n.operands[2], t);
    i.dtype = gives_boolean(n.op)              ? DType::boolean
              : gives_part(n.op)               ? part_of(t)
              : n.op == Scalar::complex        ? complex_of(t)
              : n.op == Scalar::frexp_exponent ? DType::i64
                                               : t;
    return push(i);
  }

  /// Drops unread instructions, such as redundant conversions. The result becomes the last instruction.
  void keep_needed(std::uint16_t last) {
    std::vector<Instruction>& code = expression_.code;
    std::vector<bool> is_needed(code.size(), false);
    is_needed[last] = true;
    std::vector<std::uint16_t> new_indices(code.size(), 0);
    for (std::size_t i = last + 1U; i-- > 0;) {
      if (!is_needed[i]) continue;
      const int operands = scalar_info(code[i].op).operands;
      if (operands > 0) is_needed[code[i].a] = true;
      if (operands > 1) is_needed[code[i].b] = true;
      if (operands > 2) is_needed[code[i].c] = true;
    }
    std::size_t live_count = 0;
    for (std::size_t i = 0; i <= last; ++i) {
      if (!is_needed[i]) continue;
      Instruction x = code[i];
      x.a = new_indices[x.a];
      x.b = new_indices[x.b];
      x.c = new_indices[x.c];
      new_indices[i] = static_cast<std::uint16_t>(live_count);
      code[live_count++] = x;
    }
    code.resize(live_count);
  }

  const ExprTree& tree_;
  const std::vector<ExprArg>& args_;
  const std::vector<DType>& inputs_;
  DType compute_;
  DType result_dtype_;
  PointwiseExpr expression_;
  std::map<std::tuple<std::size_t, DType, DType>, std::uint16_t> emitted_;  ///< keyed by node and types
};

}  // namespace

PointwiseExpr compile_expr(std::string_view text, const std::vector<ExprArg>& args,
                           const std::vector<DType>& input_dtypes, DType compute, DType result) {
  const ExprTree tree = parse_expr(text);
  return ExpressionCompiler(tree, args, input_dtypes, compute, result).compile();
}

}  // namespace tern
