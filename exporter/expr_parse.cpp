#include "exporter/expr_parse.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <numbers>
#include <utility>

#include "exporter/ascii.h"

namespace tern {
namespace {

struct BinaryOp {
  std::string_view text;
  int level;  ///< precedence: higher binds tighter
  Scalar op;  ///< invalid: && and ||
};
// Longer operators precede their prefixes.
constexpr std::array kBinaryOps = {
    BinaryOp{"||", 1, Scalar::invalid}, BinaryOp{"&&", 2, Scalar::invalid}, BinaryOp{"==", 6, Scalar::eq},
    BinaryOp{"!=", 6, Scalar::ne},      BinaryOp{"<=", 7, Scalar::le},      BinaryOp{">=", 7, Scalar::ge},
    BinaryOp{"<<", 8, Scalar::shl},     BinaryOp{">>", 8, Scalar::shr},     BinaryOp{"<", 7, Scalar::lt},
    BinaryOp{">", 7, Scalar::gt},       BinaryOp{"|", 3, Scalar::or_},      BinaryOp{"^", 4, Scalar::xor_},
    BinaryOp{"&", 5, Scalar::and_},     BinaryOp{"+", 9, Scalar::add},      BinaryOp{"-", 9, Scalar::sub},
    BinaryOp{"*", 10, Scalar::mul},     BinaryOp{"/", 10, Scalar::div},     BinaryOp{"%", 10, Scalar::remainder},
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  ExprTree parse() {
    while (true) {
      const std::size_t start = position_;
      const std::string_view name = word();
      if (!name.empty() && consume('=') && peek() != '=') {
        node_indices_[name] = choice();
        expect(';');
        continue;
      }
      position_ = start;
      tree_.root = choice();
      skip();
      if (position_ != text_.size()) fail_at_token("more text than an expression");
      return std::move(tree_);
    }
  }

 private:
  using Kind = ExprSyntax::Kind;

  [[noreturn]] void fail_at_token(std::string_view problem) const {
    fail(ErrorCode::internal, fmt::format("expression \"{}\", column {}: {}", text_, position_ + 1, problem));
  }
  void skip() {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
  }
  char peek() const { return position_ < text_.size() ? text_[position_] : '\0'; }
  bool consume(char c) {
    skip();
    if (peek() != c) return false;
    ++position_;
    return true;
  }
  void expect(char c) {
    if (!consume(c)) fail_at_token(fmt::format("'{}' expected", c));
  }
  std::string_view word() {
    skip();
    const std::size_t start = position_;
    while (is_letter(peek()) || (position_ > start && is_digit(peek()))) ++position_;
    return text_.substr(start, position_ - start);
  }

  std::size_t push(ExprSyntax node) {
    tree_.nodes.push_back(std::move(node));
    return tree_.nodes.size() - 1;
  }
  std::size_t push(Kind kind, std::vector<std::size_t> operand_indices, Scalar op = Scalar::invalid) {
    ExprSyntax n;
    n.kind = kind;
    n.op = op;
    n.operands = std::move(operand_indices);
    return push(std::move(n));
  }
  std::size_t push_number(double value) {
    ExprSyntax n;
    n.number = value;
    return push(std::move(n));
  }

  std::size_t choice() {
    const std::size_t condition = binary(1);
    if (!consume('?')) return condition;
    const std::size_t a = choice();
    expect(':');
    return push(Kind::operation, {condition, a, choice()}, Scalar::where);
  }

  const BinaryOp* binary_op(int level) {
    skip();
    for (const BinaryOp& op : kBinaryOps) {
      if (!text_.substr(position_).starts_with(op.text)) continue;
      return op.level >= level ? &op : nullptr;
    }
    return nullptr;
  }

  std::size_t binary(int level) {
    std::size_t left = unary();
    while (const BinaryOp* op = binary_op(level)) {
      position_ += op->text.size();
      const std::size_t right = binary(op->level + 1);
      const Kind kind = op->text == "||" ? Kind::boolean_or : op->text == "&&" ? Kind::boolean_and : Kind::operation;
      left = push(kind, {left, right}, op->op);
    }
    return left;
  }

  std::size_t unary() {
    if (consume('-')) return push(Kind::operation, {unary()}, Scalar::neg);
    if (consume('!')) return push(Kind::boolean_not, {unary()});
    if (consume('~')) return push(Kind::operation, {unary()}, Scalar::not_);
    if (consume('(')) {
      const std::size_t inner = choice();
      expect(')');
      return inner;
    }
    if (is_digit(peek()) || peek() == '.') return number();
    const std::string_view name = word();
    if (name.empty()) fail_at_token("an operand expected");
    if (consume('(')) return call(name);
    if (const auto definition = node_indices_.find(name); definition != node_indices_.end()) return definition->second;
    if (name == "pi") return push_number(std::numbers::pi);
    if (name == "inf") return push_number(std::numeric_limits<double>::infinity());
    if (name == "nan") return push_number(std::numeric_limits<double>::quiet_NaN());
    if (name == "true") return push_number(1);
    if (name == "false") return push_number(0);
    ExprSyntax n;
    n.kind = Kind::name;
    n.name = name;
    return push(std::move(n));
  }

  std::size_t number() {
    ExprSyntax n;
    const char* first = text_.data() + position_;
    const char* last = text_.data() + text_.size();
    const auto [end, error] = std::from_chars(first, last, n.number);
    if (error != std::errc()) fail_at_token("a number expected");
    const auto parsed = std::from_chars(first, last, n.integer);
    n.is_integer = parsed.ec == std::errc() && parsed.ptr == end;
    position_ += static_cast<std::size_t>(end - first);
    return push(std::move(n));
  }

  std::size_t call(std::string_view name) {
    std::vector<std::size_t> operand_indices;
    if (!consume(')')) {
      do operand_indices.push_back(choice());
      while (consume(','));
      expect(')');
    }
    const auto require_operands = [&](std::size_t count) {
      if (operand_indices.size() != count) fail_at_token(fmt::format("{} takes {} operands", name, count));
    };
    if (name == "bool" || name == "rounded") {
      require_operands(1);
      return push(name == "bool" ? Kind::to_boolean : Kind::rounded, std::move(operand_indices));
    }
    if (const DType dtype = dtype_from_name(name); dtype != DType::invalid) {
      require_operands(1);
      const std::size_t node = push(Kind::typed, std::move(operand_indices));
      tree_.nodes[node].dtype = dtype;
      return node;
    }
    const ScalarInfo& info = scalar_info(scalar_from_name(name));
    if (info.op == Scalar::index) {
      require_operands(1);
      const std::int64_t axis = tree_.nodes[operand_indices[0]].integer;
      if (!tree_.nodes[operand_indices[0]].is_integer) fail_at_token("the axis must be a literal");
      const std::size_t node = push(Kind::operation, {}, Scalar::index);
      tree_.nodes[node].integer = axis;
      return node;
    }
    if (info.operands == 0 || info.op == Scalar::convert || info.op == Scalar::bitcast) {
      fail_at_token(fmt::format("no function '{}'", name));
    }
    require_operands(static_cast<std::size_t>(info.operands));
    return push(Kind::operation, std::move(operand_indices), info.op);
  }

  std::string_view text_;
  std::size_t position_ = 0;
  ExprTree tree_;
  std::map<std::string_view, std::size_t> node_indices_;
};

}  // namespace

ExprTree parse_expr(std::string_view text) {
  return Parser(text).parse();
}

}  // namespace tern
