#include "exporter/pt2/guard.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

#include "exporter/ascii.h"
#include "exporter/pt2/sympy_names.h"
#include "exporter/pt2/text.h"

namespace tern::pt2 {
namespace {

using Index = std::uint32_t;

/// Counts parentheses, arguments and signs around a value.
constexpr int kMaxGuardDepth = 400;
constexpr std::size_t kMaxGuardBytes = 1 << 20;

struct GuardInfix {
  std::string_view sign;
  int strength;  ///< rank in Python's order of operators
  SymOp op;
};
constexpr int kComparison = 1;
constexpr GuardInfix kGuardInfix[] = {
    // A sign stands before each sign that it begins with.
    {"==", kComparison, SymOp::eq}, {"!=", kComparison, SymOp::ne}, {"<<", 5, SymOp::left_shift},
    {"<=", kComparison, SymOp::le}, {"<", kComparison, SymOp::lt},  {">>", 5, SymOp::right_shift},
    {">=", kComparison, SymOp::ge}, {">", kComparison, SymOp::gt},  {"|", 2, SymOp::bitwise_or},
    {"^", 3, SymOp::bitwise_xor},   {"&", 4, SymOp::bitwise_and},   {"+", 6, SymOp::add},
    {"-", 6, SymOp::unknown},  // an addition of the negative
    {"*", 7, SymOp::mul},           {"//", 7, SymOp::floor_div},    {"/", 7, SymOp::int_true_div},
    {"%", 7, SymOp::python_mod},
};

struct GuardFunction {
  std::string_view name;          ///< bare, behind the name of a module
  std::string_view message_text;  ///< in messages
  SymOp op;
  std::size_t min_arguments = 1, max_arguments = 1;
};
constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();
constexpr GuardFunction kGuardFunctions[] = {
    {"sym_float", "float", SymOp::to_float},
    {"float", "float", SymOp::to_float},
    {"sym_int", "int", SymOp::trunc_to_int},
    {"int", "int", SymOp::trunc_to_int},
    {"trunc", "int", SymOp::trunc_to_int},
    {"floor", "floor", SymOp::floor_to_int},
    {"ceil", "ceil", SymOp::ceil_to_int},
    {"sym_max", "max", SymOp::max, 1, kUnlimited},
    {"max", "max", SymOp::max, 1, kUnlimited},
    {"sym_min", "min", SymOp::min, 1, kUnlimited},
    {"min", "min", SymOp::min, 1, kUnlimited},
    {"sym_sum", "sum", SymOp::add, 1, kUnlimited},
    {"abs", "abs", SymOp::abs},
    {"sym_not", "not ", SymOp::logical_not},
    {"sym_ite", "where", SymOp::where, 3, 3},
    {"pow", "pow", SymOp::float_pow, 2, 2},
    {"cast_symbool_to_symint_guardless", "int", SymOp::identity},
    {"bool", "bool", SymOp::identity},
};
constexpr std::string_view kModules[] = {"torch.", "math.", "sympy.", "operator.", "builtins."};
/// Functions of one double in size expressions (OpaqueUnaryFn_* of torch.utils._sympy.functions).
constexpr std::string_view kUnary[] = {"sqrt", "exp",  "log",  "log2", "sin",  "cos", "tan",
                                       "asin", "acos", "atan", "sinh", "cosh", "tanh"};

class GuardParser {
 public:
  GuardParser(std::string_view text, const InputName& input_name) : text_(text), input_name_(input_name) {}

  Guard parse() {
    if (text_.size() > kMaxGuardBytes) fail_at_column("the relation is too long");
    choice();
    skip_spaces();
    if (position_ != text_.size()) fail_at_column("expected the end");
    guard_.text += text_.substr(copied_);
    return std::move(guard_);
  }

 private:
  [[noreturn]] void fail_at_column(std::string_view problem) const {
    fail(ErrorCode::unsupported, fmt::format("column {}: {}", position_ + 1, problem));
  }

  struct Depth {
    explicit Depth(GuardParser& parser) : parser(parser) {
      if (++parser.depth_ > kMaxGuardDepth)
        parser.fail_at_column(fmt::format("nested deeper than {} levels", kMaxGuardDepth));
    }
    ~Depth() { --parser.depth_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;
    GuardParser& parser;
  };

  void skip_spaces() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\n')) ++position_;
  }
  char peek(std::size_t ahead = 0) const { return position_ + ahead < text_.size() ? text_[position_ + ahead] : '\0'; }
  bool consume(std::string_view sign) {
    skip_spaces();
    return take_here(sign);
  }
  bool take_here(std::string_view sign) {
    if (!text_.substr(position_).starts_with(sign)) return false;
    position_ += sign.size();
    return true;
  }
  bool consume_word(std::string_view word) {
    skip_spaces();
    const std::string_view remaining = text_.substr(position_);
    if (!remaining.starts_with(word)) return false;
    if (remaining.size() > word.size() && (is_letter(remaining[word.size()]) || is_digit(remaining[word.size()])))
      return false;
    position_ += word.size();
    return true;
  }
  void expect(std::string_view sign) {
    if (!consume(sign)) fail_at_column(fmt::format("expected '{}'", sign));
  }
  /// Letters, digits and dots: "torch.sym_max".
  std::string_view dotted_name() {
    const std::size_t start = position_;
    while (is_letter(peek()) || is_digit(peek()) || (peek() == '.' && is_letter(peek(1)))) ++position_;
    return text_.substr(start, position_ - start);
  }

  Index add(SymNode node, std::initializer_list<Index> children = {}) {
    return add(std::move(node), std::vector<Index>(children));
  }
  Index add(SymNode node, const std::vector<Index>& children) {
    SymExpr& e = guard_.expr;
    node.first_child = static_cast<Index>(e.children.size());
    node.child_count = static_cast<Index>(children.size());
    e.children.insert(e.children.end(), children.begin(), children.end());
    e.nodes.push_back(std::move(node));
    return static_cast<Index>(e.nodes.size() - 1);
  }
  Index add(SymOp op, std::initializer_list<Index> children) {
    SymNode node;
    node.op = op;
    return add(std::move(node), children);
  }
  Index integer(std::int64_t value) {
    SymNode node;
    node.op = SymOp::integer;
    node.value = value;
    return add(std::move(node));
  }
  Index negative(Index operand) { return add(SymOp::mul, {integer(-1), operand}); }

  // a if condition else b
  Index choice() {
    const Depth depth(*this);
    const Index value = disjunction();
    if (!consume_word("if")) return value;
    const Index condition = disjunction();
    if (!consume_word("else")) fail_at_column("expected 'else'");
    return add(SymOp::where, {condition, value, choice()});
  }
  Index disjunction() {
    Index left = conjunction();
    while (consume_word("or")) left = add(SymOp::logical_or, {left, conjunction()});
    return left;
  }
  Index conjunction() {
    Index left = negation();
    while (consume_word("and")) left = add(SymOp::logical_and, {left, negation()});
    return left;
  }
  Index negation() {
    if (!consume_word("not")) return comparison();
    const Depth depth(*this);
    return add(SymOp::logical_not, {negation()});
  }

  const GuardInfix* take_infix(int min_strength) {
    skip_spaces();
    for (const GuardInfix& infix : kGuardInfix) {
      if (!text_.substr(position_).starts_with(infix.sign)) continue;
      if (infix.strength < min_strength) return nullptr;
      position_ += infix.sign.size();
      return &infix;
    }
    return nullptr;
  }

  // a < b < c compares neighbours.
  Index comparison() {
    Index left = arithmetic(kComparison + 1);
    std::optional<Index> result;
    while (const GuardInfix* infix = take_infix(kComparison)) {
      const Index right = arithmetic(kComparison + 1);
      const Index relation = add(infix->op, {left, right});
      result = result ? add(SymOp::logical_and, {*result, relation}) : relation;
      left = right;
    }
    return result.value_or(left);
  }

  // Operators of at least this strength, from left to right.
  Index arithmetic(int min_strength) {
    Index left = sign();
    while (const GuardInfix* infix = take_infix(min_strength)) {
      const Index right = arithmetic(infix->strength + 1);
      left = infix->op == SymOp::unknown ? add(SymOp::add, {left, negative(right)}) : add(infix->op, {left, right});
    }
    return left;
  }

  // A power binds more strongly than the sign before: -2**2 is -4.
  Index sign() {
    const Depth depth(*this);
    if (consume("-")) return negative(sign());
    if (consume("+")) return sign();
    const Index base = atom();
    if (!consume("**")) return base;
    return add(SymOp::float_pow, {base, sign()});
  }

  Index atom() {
    skip_spaces();
    if (is_digit(peek()) || (peek() == '.' && is_digit(peek(1)))) return number();
    if (consume("(")) {
      const Index inner = choice();
      expect(")");
      return inner;
    }
    if (peek() == 'L' && peek(1) == '[') return source();
    const std::size_t start = position_;
    const std::string_view name = dotted_name();
    if (name.empty()) fail_at_column("expected a value");
    if (peek() == '(') return call(name, start);
    return constant(name);
  }

  Index number() {
    const std::size_t start = position_;
    while (is_digit(peek())) ++position_;
    const bool is_real = peek() == '.' || peek() == 'e' || peek() == 'E';
    SymNode node;
    const char* const begin = text_.data() + start;
    const char* const end = text_.data() + text_.size();
    const char* stop = nullptr;
    if (is_real) {
      node.op = SymOp::real;
      const auto r = std::from_chars(begin, end, node.real);
      if (r.ec != std::errc()) fail_at_column("the number is not a valid double");
      stop = r.ptr;
    } else {
      node.op = SymOp::integer;
      const auto r = std::from_chars(begin, end, node.value);
      if (r.ec != std::errc()) fail_at_column("the number does not fit in 64 bits");
      stop = r.ptr;
    }
    position_ = static_cast<std::size_t>(stop - text_.data());
    return add(std::move(node));
  }

  Index constant(std::string_view name) {
    SymNode node;
    if (name == "True" || name == "False") {
      node.op = SymOp::boolean;
      node.value = name == "True";
    } else if (name == "math.inf" || name == "inf" || name == "oo" || name == "int_oo") {
      node.op = SymOp::infinity;
      node.value = 1;
    } else {
      fail_at_column(fmt::format("unknown name {}", quote(name)));
    }
    return add(std::move(node));
  }

  std::vector<Index> arguments() {
    expect("(");
    std::vector<Index> found;
    if (consume(")")) return found;
    do {
      if (consume("[") || consume("(")) {  // the sequence of sym_sum
        do {
          found.push_back(choice());
        } while (consume(","));
        if (!consume("]")) expect(")");
      } else {
        found.push_back(choice());
      }
    } while (consume(","));
    expect(")");
    return found;
  }

  Index call(std::string_view name, std::size_t start) {
    std::string_view bare = name;
    for (const std::string_view module : kModules) {
      if (bare.starts_with(module)) bare.remove_prefix(module.size());
    }
    const bool is_symbolic = bare.starts_with("_sym_");
    if (is_symbolic) bare.remove_prefix(5);
    SymNode node;
    std::size_t min_arguments = 1, max_arguments = kUnlimited;
    std::string_view message_text = bare;
    const auto* function = std::ranges::find(kGuardFunctions, bare, &GuardFunction::name);
    if (bare == "round") {
      max_arguments = 2;
    } else if (function != std::end(kGuardFunctions) && !is_symbolic) {
      node.op = function->op;
      message_text = function->message_text;
      min_arguments = function->min_arguments;
      max_arguments = function->max_arguments;
    } else if (std::ranges::find(kUnary, bare) != std::end(kUnary)) {
      node.op = SymOp::opaque_unary;
      node.name = bare;
      max_arguments = 1;
    } else {
      for (const SymName& known : kSymNames) {
        if (known.name != bare) continue;
        node.op = known.op;
        const SymArity arity = arity_of(known.op);
        min_arguments = arity.min, max_arguments = arity.max;
      }
      const bool literal = node.op == SymOp::integer || node.op == SymOp::rational || node.op == SymOp::real ||
                           node.op == SymOp::symbol || node.op == SymOp::piecewise;
      if (node.op == SymOp::unknown || literal) fail_at_column(fmt::format("unknown function {}", quote(name)));
    }
    replace_text(start, position_, message_text);
    const std::vector<Index> operands = arguments();
    if (operands.size() < min_arguments || operands.size() > max_arguments)
      fail_at_column(fmt::format("{} has {} arguments", quote(name), operands.size()));
    if (bare == "round") node.op = operands.size() == 2 ? SymOp::round_decimal : SymOp::round_to_int;
    return add(std::move(node), operands);
  }

  /// Text [start, end) is written as `text` in the author's notation.
  void replace_text(std::size_t start, std::size_t end, std::string_view text) {
    guard_.text += text_.substr(copied_, start - copied_);
    guard_.text += text;
    copied_ = end;
  }

  std::int64_t axis() {
    expect("[");
    std::int64_t value = 0;
    const auto r = std::from_chars(text_.data() + position_, text_.data() + text_.size(), value);
    if (r.ec != std::errc() || value < 0) fail_at_column("expected an axis");
    position_ = static_cast<std::size_t>(r.ptr - text_.data());
    expect("]");
    return value;
  }

  std::string key() {
    if (const char quote = peek(); quote == '\'' || quote == '"') {
      const std::size_t end = text_.find(quote, position_ + 1);
      if (end == std::string_view::npos) fail_at_column("a string is not closed");
      const std::string found(text_.substr(position_ + 1, end - position_ - 1));
      position_ = end + 1;
      return found;
    }
    const std::size_t start = position_;
    while (is_digit(peek()) || (position_ == start && peek() == '-')) ++position_;
    if (position_ == start) fail_at_column("expected a key");
    return std::string(text_.substr(start, position_ - start));
  }

  // L['x'][0].field, then size(), stride() or storage_offset()
  Index source() {
    GuardSource s;
    std::string property;
    const std::size_t start = position_;
    ++position_;
    while (true) {
      if (take_here("[")) {
        s.path.push_back(key());
        expect("]");
      } else if (take_here(".size()")) {
        s.property = GuardSource::Property::size;
        s.axis = axis();
        property = fmt::format(".shape[{}]", s.axis);
        break;
      } else if (take_here(".stride()")) {
        s.property = GuardSource::Property::stride;
        s.axis = axis();
        property = fmt::format(".stride({})", s.axis);
        break;
      } else if (take_here(".storage_offset()")) {
        s.property = GuardSource::Property::storage_offset;
        property = ".storage_offset()";
        break;
      } else if (peek() == '.' && is_letter(peek(1))) {
        ++position_;
        const std::size_t begin = position_;
        while (is_letter(peek()) || is_digit(peek())) ++position_;
        if (peek() == '(') fail_at_column("an input only has size(), stride() and storage_offset()");
        s.path.emplace_back(text_.substr(begin, position_ - begin));
      } else {
        break;
      }
    }
    s.text = input_name_(s.path) + property;
    replace_text(start, position_, s.text);
    SymNode node;
    node.op = SymOp::symbol;
    node.is_integer = true;
    node.name = s.text;
    const auto [it, is_new] = source_indices_.try_emplace(s.text, guard_.sources.size());
    node.value = static_cast<std::int64_t>(it->second);
    if (is_new) guard_.sources.push_back(std::move(s));
    return add(std::move(node));
  }

  std::string_view text_;
  const InputName& input_name_;
  std::size_t position_ = 0;
  std::size_t copied_ = 0;  ///< earlier text is in guard_.text
  int depth_ = 0;
  std::unordered_map<std::string, std::size_t> source_indices_;  ///< numbers of sources, keyed by their text
  Guard guard_;
};

}  // namespace

Guard parse_guard(std::string_view text, const InputName& input_name) {
  return GuardParser(text, input_name).parse();
}

}  // namespace tern::pt2
