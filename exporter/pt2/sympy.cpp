#include "exporter/pt2/sympy.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <charconv>
#include <utility>

#include "exporter/ascii.h"
#include "exporter/pt2/sympy_names.h"
#include "exporter/pt2/text.h"

namespace tern::pt2 {
namespace {

// A call whose parenthesis is still open.
struct OpenCall {
  SymNode node;
  std::vector<std::uint32_t> children;
  std::vector<std::int64_t> numbers;  // Integer and Rational
  std::string_view text;              // Symbol and Float
  bool is_pair = false;               // ExprCondPair: its children join the enclosing Piecewise
};

class SympyParser {
 public:
  explicit SympyParser(std::string_view text) : text_(text) {}

  // Uses its own stack instead of recursion.
  SymExpr parse() {
    do {
      value();
      while (!calls_.empty() && consume(')')) close();
      if (!calls_.empty() && !just_opened_) expect(',');
    } while (!calls_.empty());
    skip_spaces();
    if (position_ != text_.size()) bad("expected the end");
    if (expr_.nodes.empty()) bad("expected an expression");
    return std::move(expr_);
  }

 private:
  [[noreturn]] void bad(const std::string& problem) const {
    fail(ErrorCode::bad_file,
         fmt::format("symbolic expression {}: column {}: {}", quote(text_), position_ + 1, problem));
  }
  void skip_spaces() {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
  }
  char peek() const { return position_ < text_.size() ? text_[position_] : '\0'; }
  bool consume(char c) {
    skip_spaces();
    if (peek() != c) return false;
    ++position_;
    return true;
  }
  void expect(char c) {
    if (!consume(c)) bad(fmt::format("expected '{}'", c));
  }
  std::string_view word() {
    const std::size_t start = position_;
    while (is_word(peek())) ++position_;
    if (position_ == start) bad("expected a value");
    return text_.substr(start, position_ - start);
  }

  // Reads a value, or the start of a call.
  void value() {
    just_opened_ = false;
    skip_spaces();
    if (peek() == '\'' || peek() == '"') return string();
    if (is_digit(peek()) || (peek() == '-' && position_ + 1 < text_.size() && is_digit(text_[position_ + 1])))
      return number();
    const bool negative = consume('-');
    const auto name = word();
    if (peek() == '(') {
      if (negative) bad("expected a number");
      ++position_;
      return open(name);
    }
    if (peek() == '=') {
      if (negative) bad("expected a number");
      ++position_;
      return keyword(name);
    }
    constant(name, negative);
  }

  void open(std::string_view name) {
    if (calls_.size() >= kMaxSymDepth) bad(fmt::format("nested deeper than {} levels", kMaxSymDepth));
    if (const auto dot = name.rfind('.'); dot != std::string_view::npos) name.remove_prefix(dot + 1);
    OpenCall& call = calls_.emplace_back();
    call.is_pair = name == "ExprCondPair";
    for (const auto& known : kSymNames)
      if (known.name == name) call.node.op = known.op;
    if (call.node.op == SymOp::unknown) {
      const bool opaque = name.starts_with(kOpaqueUnaryPrefix);
      if (opaque) call.node.op = SymOp::opaque_unary;
      call.node.name = opaque ? name.substr(kOpaqueUnaryPrefix.size()) : name;
    }
    just_opened_ = peek() != ')';
  }

  void string() {
    const char quote = text_[position_];
    const auto end = text_.find(quote, position_ + 1);
    if (end == std::string_view::npos) bad("a string is not closed");
    if (calls_.empty() || !calls_.back().text.empty()) bad("a string is not allowed here");
    calls_.back().text = text_.substr(position_ + 1, end - position_ - 1);
    position_ = end + 1;
  }

  void number() {
    std::int64_t value = 0;
    const char* begin = text_.data() + position_;
    const auto result = std::from_chars(begin, text_.data() + text_.size(), value);
    if (result.ec != std::errc()) bad("the number does not fit in 64 bits");
    const bool literal =
        !calls_.empty() && (calls_.back().node.op == SymOp::integer || calls_.back().node.op == SymOp::rational);
    position_ += static_cast<std::size_t>(result.ptr - begin);
    if (literal) {
      calls_.back().numbers.push_back(value);
    } else {
      SymNode node;
      node.op = SymOp::integer;
      node.value = value;
      add(std::move(node));
    }
  }

  // Reads positive=True and the like of a symbol, precision=53 of a float; ignores other keywords.
  void keyword(std::string_view name) {
    if (calls_.empty()) bad("expected an expression");
    const auto value = word();
    SymNode& node = calls_.back().node;
    if (value != "True") return;
    if (name == "positive") node.positive = true;
    if (name == "integer") node.is_integer = true;
    if (name == "nonnegative") node.nonnegative = true;
  }

  void constant(std::string_view name, bool negative) {
    SymNode node;
    if (name == "oo" || name == "int_oo") {
      node.op = SymOp::infinity;
      node.value = negative ? -1 : 1;
    } else if (!negative && (name == "true" || name == "false" || name == "True" || name == "False")) {
      node.op = SymOp::boolean;
      node.value = name == "true" || name == "True";
    } else if (negative) {
      bad("expected a number");
    } else {
      node.name = name;  // pi, nan and others
    }
    add(std::move(node));
  }

  void add(SymNode node) {
    if (!calls_.empty()) calls_.back().children.push_back(static_cast<std::uint32_t>(expr_.nodes.size()));
    expr_.nodes.push_back(std::move(node));
  }

  void close() {
    OpenCall call = std::move(calls_.back());
    calls_.pop_back();
    just_opened_ = false;
    SymNode& node = call.node;
    switch (node.op) {
      case SymOp::integer:
        if (call.numbers.size() != 1) bad("Integer takes one number");
        node.value = call.numbers[0];
        break;
      case SymOp::rational:
        if (call.numbers.size() != 2 || call.numbers[1] <= 0) bad("Rational takes a number and a positive number");
        node.value = call.numbers[0];
        node.denominator = call.numbers[1];
        break;
      case SymOp::real: node.real = read_real(call.text); break;
      case SymOp::symbol:
        if (call.text.empty()) bad("a symbol has no name");
        node.name = call.text;
        break;
      default: break;
    }
    const bool leaf =
        node.op == SymOp::integer || node.op == SymOp::rational || node.op == SymOp::real || node.op == SymOp::symbol;
    if (leaf && !call.children.empty()) bad("a number or symbol has arguments");
    if (!leaf && !call.text.empty()) bad("a string is not allowed here");
    if (call.is_pair) {
      if (calls_.empty() || calls_.back().node.op != SymOp::piecewise || call.children.size() != 2)
        bad("a pair of value and condition is only allowed in Piecewise");
      auto& children = calls_.back().children;
      children.insert(children.end(), call.children.begin(), call.children.end());
      return;
    }
    check_count(call);
    node.first_child = static_cast<std::uint32_t>(expr_.children.size());
    node.child_count = static_cast<std::uint32_t>(call.children.size());
    expr_.children.insert(expr_.children.end(), call.children.begin(), call.children.end());
    add(std::move(node));
  }

  void check_count(const OpenCall& call) const {
    if (call.node.op == SymOp::unknown) return;
    const std::size_t count = call.children.size();
    const auto [min, max] = arity_of(call.node.op);
    if (count < min || count > max) bad(fmt::format("a function has a wrong number of arguments, {}", count));
  }

  double read_real(std::string_view text) const {
    double value = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || result.ec != std::errc() || result.ptr != text.data() + text.size())
      bad("Float takes a number in quotes");
    return value;
  }

  std::string_view text_;
  std::size_t position_ = 0;
  bool just_opened_ = false;
  std::vector<OpenCall> calls_;
  SymExpr expr_;
};

}  // namespace

SymArity arity_of(SymOp op) {
  switch (op) {
    case SymOp::unknown:
    case SymOp::integer:
    case SymOp::rational:
    case SymOp::real:
    case SymOp::symbol:
    case SymOp::boolean:
    case SymOp::infinity: return {0, 0};
    case SymOp::add:
    case SymOp::mul:
    case SymOp::min:
    case SymOp::max:
    case SymOp::logical_and:
    case SymOp::logical_or: return {1, SIZE_MAX};
    case SymOp::piecewise: return {2, SIZE_MAX};
    case SymOp::where:
    case SymOp::modular_indexing: return {3, 3};
    case SymOp::logical_not:
    case SymOp::to_float:
    case SymOp::ceil_to_int:
    case SymOp::floor_to_int:
    case SymOp::trunc_to_int:
    case SymOp::trunc_to_float:
    case SymOp::round_to_int:
    case SymOp::floor:
    case SymOp::ceiling:
    case SymOp::abs:
    case SymOp::identity:
    case SymOp::opaque_unary: return {1, 1};
    default: return {2, 2};
  }
}

SymExpr parse_sympy(std::string_view srepr) {
  return SympyParser(srepr).parse();
}

std::optional<std::string_view> plain_symbol(std::string_view text) {
  if (text.empty() || is_digit(text.front())) return std::nullopt;
  for (const char c : text)
    if (!is_word(c) || c == '.') return std::nullopt;
  return text;
}

}  // namespace tern::pt2
