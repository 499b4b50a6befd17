#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>

#include "text/jinja/failure.h"
#include "text/jinja/lexer.h"
#include "text/jinja/syntax.h"

namespace tern::jinja {
namespace {

constexpr int kMaxParseDepth = 150;

class Parser {
 public:
  explicit Parser(std::string_view source) : tokens_(read_tokens(source)) {}

  Body parse() {
    Body body = parse_body({});
    if (peek().kind != TokenKind::end) fail_here(fmt::format("'{}' closes no block", peek(1).text));
    return body;
  }

 private:
  using Kind = TokenKind;

  const Token& peek(std::size_t ahead = 0) const { return tokens_[std::min(position_ + ahead, tokens_.size() - 1)]; }
  Token next() {
    Token t = peek();
    if (position_ + 1 < tokens_.size()) ++position_;
    return t;
  }
  [[noreturn]] void fail_here(const std::string& message) const { fail_template(peek().line, message); }
  bool is_symbol(std::string_view s, std::size_t ahead = 0) const {
    return peek(ahead).kind == Kind::symbol && peek(ahead).text == s;
  }
  bool is_word(std::string_view s, std::size_t ahead = 0) const {
    return peek(ahead).kind == Kind::name && peek(ahead).text == s;
  }
  bool take_symbol(std::string_view s) {
    if (!is_symbol(s)) return false;
    next();
    return true;
  }
  bool take_word(std::string_view s) {
    if (!is_word(s)) return false;
    next();
    return true;
  }
  void expect_symbol(std::string_view s) {
    if (!take_symbol(s)) fail_here(fmt::format("expected '{}' before '{}'", s, peek().text));
  }
  void expect_word(std::string_view s) {
    if (!take_word(s)) fail_here(fmt::format("expected '{}' before '{}'", s, peek().text));
  }
  std::string expect_name() {
    if (peek().kind != Kind::name) fail_here(fmt::format("expected a name before '{}'", peek().text));
    return next().text;
  }
  void expect_block_end() {
    if (peek().kind != Kind::end_block) fail_here(fmt::format("'{}' is not expected in this tag", peek().text));
    next();
  }

  struct Deeper {
    explicit Deeper(Parser& p) : parser(p) {
      if (++parser.depth_ > kMaxParseDepth) parser.fail_here("it nests too deep");
    }
    ~Deeper() { --parser.depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    Parser& parser;
  };

  ExpressionPtr create_expression(ExpressionKind kind, std::string text = {}) const {
    auto e = std::make_unique<Expression>();
    e->kind = kind;
    e->line = peek().line;
    e->text = std::move(text);
    return e;
  }
  template <class... Operands>
  ExpressionPtr make_of(ExpressionKind kind, std::string text, Operands... operands) const {
    ExpressionPtr e = create_expression(kind, std::move(text));
    (e->operands.push_back(std::move(operands)), ...);
    return e;
  }
  ExpressionPtr constant(Value v) const {
    ExpressionPtr e = create_expression(ExpressionKind::constant);
    e->constant = std::move(v);
    return e;
  }

  // Statements

  Body parse_body(std::initializer_list<std::string_view> end_words) {
    const Deeper deeper(*this);
    Body body;
    while (peek().kind != Kind::end) {
      if (peek().kind == Kind::begin_block) {
        if (std::ranges::find(end_words, peek(1).text) != end_words.end() && peek(1).kind == Kind::name) return body;
        if (peek(1).kind == Kind::name && (peek(1).text.starts_with("end") || peek(1).text.starts_with("el")))
          return body;
        next();
        body.push_back(parse_statement());
        continue;
      }
      auto s = std::make_unique<Statement>();
      s->line = peek().line;
      if (peek().kind == Kind::text) {
        s->kind = StatementKind::text;
        s->text = next().text;
      } else {
        next();  // {{
        s->kind = StatementKind::output;
        s->value = parse_tuple(true);
        if (peek().kind != Kind::end_output)
          fail_here(fmt::format("'{}' is not expected in this expression", peek().text));
        next();
      }
      body.push_back(std::move(s));
    }
    if (end_words.size() != 0) fail_here(fmt::format("a block has no end: add {{% {} %}}", *(end_words.end() - 1)));
    return body;
  }

  /// `{% name %}` of the end of a block.
  void parse_end(std::string_view name) {
    next();
    expect_word(name);
    while (peek().kind == Kind::name) next();  // endmacro NAME
    expect_block_end();
  }

  std::unique_ptr<Statement> parse_statement() {
    auto s = std::make_unique<Statement>();
    s->line = peek().line;
    const std::string name = expect_name();
    if (name == "for") {
      parse_loop(*s);
    } else if (name == "if") {
      parse_branch(*s);
    } else if (name == "set") {
      parse_set(*s);
    } else if (name == "macro") {
      s->kind = StatementKind::macro;
      s->text = expect_name();
      parse_parameters(*s);
      parse_block(*s, "endmacro");
    } else if (name == "call") {
      s->kind = StatementKind::call;
      if (is_symbol("(")) parse_parameters(*s);
      s->value = parse_expression();
      if (s->value->kind != ExpressionKind::call) fail_here("a call block needs a call");
      parse_block(*s, "endcall");
    } else if (name == "filter") {
      s->kind = StatementKind::filter;
      s->value = parse_filters(nullptr, true);
      parse_block(*s, "endfilter");
    } else if (name == "with") {
      s->kind = StatementKind::with;
      while (peek().kind != Kind::end_block) {
        if (!s->assignments.empty()) expect_symbol(",");
        Target target = parse_target(false);
        expect_symbol("=");
        s->assignments.emplace_back(std::move(target), parse_expression());
      }
      parse_block(*s, "endwith");
    } else if (name == "generation") {
      s->kind = StatementKind::group;
      parse_block(*s, "endgeneration");
    } else if (name == "break" || name == "continue") {
      if (loops_ == 0) fail_here(fmt::format("'{}' stands outside a loop", name));
      s->kind = name == "break" ? StatementKind::end_loop : StatementKind::next_loop;
      expect_block_end();
    } else {
      fail(ErrorCode::unsupported,
           fmt::format("line {} of the chat template: the tag '{}' is not known", s->line, name));
    }
    return s;
  }

  void parse_block(Statement& s, std::string_view end) {
    expect_block_end();
    s.body = parse_body({end});
    parse_end(end);
  }

  void parse_loop(Statement& s) {
    s.kind = StatementKind::loop;
    s.target = parse_target(true);
    expect_word("in");
    s.value = parse_tuple(false);
    if (take_word("if")) s.condition = parse_expression();
    if (is_word("recursive"))
      fail(ErrorCode::unsupported, fmt::format("line {} of the chat template: loops cannot be recursive", s.line));
    expect_block_end();
    ++loops_;
    s.body = parse_body({"else", "endfor"});
    --loops_;
    if (is_word("else", 1)) {
      next(), next();
      expect_block_end();
      s.otherwise = parse_body({"endfor"});
    }
    parse_end("endfor");
  }

  void parse_branch(Statement& s) {
    s.kind = StatementKind::branch;
    while (true) {
      ExpressionPtr condition = parse_tuple(true);
      expect_block_end();
      s.branches.emplace_back(std::move(condition), parse_body({"elif", "else", "endif"}));
      if (!is_word("elif", 1)) break;
      next(), next();
    }
    if (is_word("else", 1)) {
      next(), next();
      expect_block_end();
      s.otherwise = parse_body({"endif"});
    }
    parse_end("endif");
  }

  void parse_set(Statement& s) {
    s.kind = StatementKind::set;
    s.target = parse_target(true);
    if (take_symbol("=")) {
      s.value = parse_tuple(true);
      expect_block_end();
      return;
    }
    if (is_symbol("|")) s.condition = parse_filters(nullptr, false);
    parse_block(s, "endset");
  }

  Target parse_target(bool allows_several) {
    const auto parse_one = [&] {
      Target t;
      if (take_symbol("(")) {
        t = parse_target(true);
        expect_symbol(")");
        return t;
      }
      t.name = expect_name();
      if (take_symbol(".")) t.attribute = expect_name();
      return t;
    };
    Target first = parse_one();
    if (!allows_several || !is_symbol(",")) return first;
    Target targets;
    targets.elements.push_back(std::move(first));
    while (take_symbol(",")) {
      if (is_word("in") || is_symbol("=")) break;
      targets.elements.push_back(parse_one());
    }
    return targets;
  }

  void parse_parameters(Statement& s) {
    expect_symbol("(");
    while (!take_symbol(")")) {
      if (!s.parameters.empty()) {
        expect_symbol(",");
        if (take_symbol(")")) break;
      }
      Parameter p;
      p.name = expect_name();
      if (take_symbol("=")) p.value = parse_expression();
      s.parameters.push_back(std::move(p));
    }
  }

  // Expressions, from the weakest operator to the strongest

  /// a, b: a tuple.
  ExpressionPtr parse_tuple(bool with_conditional) {
    const auto parse_one = [&] { return with_conditional ? parse_expression() : parse_or(); };
    ExpressionPtr first = parse_one();
    if (!is_symbol(",")) return first;
    ExpressionPtr tuple = make_of(ExpressionKind::tuple, {}, std::move(first));
    while (take_symbol(",")) {
      const Kind k = peek().kind;
      if (k == Kind::end_block || k == Kind::end_output || is_symbol(")")) break;
      tuple->operands.push_back(parse_one());
    }
    return tuple;
  }

  ExpressionPtr parse_expression() {
    const Deeper deeper(*this);
    ExpressionPtr value = parse_or();
    while (take_word("if")) {
      ExpressionPtr condition = parse_or();
      ExpressionPtr otherwise = take_word("else") ? parse_expression() : nullptr;
      value = make_of(ExpressionKind::conditional, {}, std::move(value), std::move(condition), std::move(otherwise));
    }
    return value;
  }

  ExpressionPtr parse_or() {
    ExpressionPtr left = parse_and();
    while (take_word("or")) left = make_of(ExpressionKind::logical_or, {}, std::move(left), parse_and());
    return left;
  }
  ExpressionPtr parse_and() {
    ExpressionPtr left = parse_not();
    while (take_word("and")) left = make_of(ExpressionKind::logical_and, {}, std::move(left), parse_not());
    return left;
  }
  ExpressionPtr parse_not() {
    const Deeper deeper(*this);
    if (take_word("not")) return make_of(ExpressionKind::logical_not, {}, parse_not());
    return parse_compare();
  }

  ExpressionPtr parse_compare() {
    ExpressionPtr left = parse_sum();
    ExpressionPtr chain;
    while (true) {
      std::string op;
      for (const char* each : {"==", "!=", "<=", ">=", "<", ">"}) {
        if (op.empty() && take_symbol(each)) op = each;
      }
      if (op.empty() && is_word("not") && is_word("in", 1)) {
        next(), next();
        op = "not in";
      } else if (op.empty() && take_word("in")) {
        op = "in";
      }
      if (op.empty()) return chain != nullptr ? std::move(chain) : std::move(left);
      if (chain == nullptr) chain = make_of(ExpressionKind::compare, {}, std::move(left));
      chain->operators.push_back(std::move(op));
      chain->operands.push_back(parse_sum());
    }
  }

  ExpressionPtr parse_binary(std::initializer_list<const char*> symbols, ExpressionPtr (Parser::*operand)()) {
    ExpressionPtr left = (this->*operand)();
    while (true) {
      const auto found = std::ranges::find_if(symbols, [&](const char* s) { return is_symbol(s); });
      if (found == symbols.end()) return left;
      next();
      left = make_of(ExpressionKind::binary, *found, std::move(left), (this->*operand)());
    }
  }
  ExpressionPtr parse_sum() { return parse_binary({"+", "-"}, &Parser::parse_concatenation); }
  ExpressionPtr parse_concatenation() { return parse_binary({"~"}, &Parser::parse_product); }
  ExpressionPtr parse_product() { return parse_binary({"*", "//", "/", "%"}, &Parser::parse_unary); }

  ExpressionPtr parse_unary() { return parse_signed(true); }
  ExpressionPtr parse_signed(bool with_filters) {
    const Deeper deeper(*this);
    ExpressionPtr e;
    if (take_symbol("-")) {
      e = make_of(ExpressionKind::negate, {}, parse_signed(false));
    } else if (take_symbol("+")) {
      e = make_of(ExpressionKind::plus, {}, parse_signed(false));
    } else {
      e = parse_primary();
    }
    e = parse_postfix(std::move(e));
    if (is_symbol("**")) {
      next();
      e = make_of(ExpressionKind::binary, "**", std::move(e), parse_signed(true));
    }
    return with_filters ? parse_filters(std::move(e), false) : std::move(e);
  }

  ExpressionPtr parse_primary() {
    const Token t = peek();
    switch (t.kind) {
      case Kind::string: {
        std::string text = next().text;
        while (peek().kind == Kind::string) text += next().text;
        return constant(Value(std::move(text)));
      }
      case Kind::integer: {
        next();
        std::int64_t i = 0;
        const auto [end, error] = std::from_chars(t.text.data(), t.text.data() + t.text.size(), i);
        if (error != std::errc() || end != t.text.data() + t.text.size())
          fail_here(fmt::format("the number {} is too large", t.text));
        return constant(Value(i));
      }
      case Kind::number: {
        next();
        double d = 0;
        std::from_chars(t.text.data(), t.text.data() + t.text.size(), d);
        return constant(Value(d));
      }
      case Kind::name: {
        next();
        if (t.text == "true" || t.text == "True") return constant(Value(true));
        if (t.text == "false" || t.text == "False") return constant(Value(false));
        if (t.text == "none" || t.text == "None") return constant(Value());
        return create_expression(ExpressionKind::name, t.text);
      }
      default: break;
    }
    if (take_symbol("(")) {
      if (take_symbol(")")) return create_expression(ExpressionKind::tuple);
      ExpressionPtr e = parse_tuple(true);
      expect_symbol(")");
      return e;
    }
    if (take_symbol("[")) {
      ExpressionPtr list = create_expression(ExpressionKind::list);
      while (!take_symbol("]")) {
        if (!list->operands.empty()) {
          expect_symbol(",");
          if (take_symbol("]")) break;
        }
        list->operands.push_back(parse_expression());
      }
      return list;
    }
    if (take_symbol("{")) {
      ExpressionPtr dict = create_expression(ExpressionKind::dict);
      while (!take_symbol("}")) {
        if (!dict->operands.empty()) {
          expect_symbol(",");
          if (take_symbol("}")) break;
        }
        dict->operands.push_back(parse_expression());
        expect_symbol(":");
        dict->operands.push_back(parse_expression());
      }
      return dict;
    }
    fail_here(fmt::format("expected an expression before '{}'", t.text));
  }

  ExpressionPtr parse_postfix(ExpressionPtr e) {
    while (true) {
      if (take_symbol(".")) {
        if (peek().kind == Kind::integer) {
          ExpressionPtr number = parse_primary();
          e = make_of(ExpressionKind::item, {}, std::move(e), std::move(number));
        } else {
          e = make_of(ExpressionKind::attribute, expect_name(), std::move(e));
        }
      } else if (take_symbol("[")) {
        e = parse_subscript(std::move(e));
      } else if (is_symbol("(")) {
        ExpressionPtr call = make_of(ExpressionKind::call, {}, std::move(e));
        call->arguments = parse_arguments();
        e = std::move(call);
      } else {
        return e;
      }
    }
  }

  ExpressionPtr parse_subscript(ExpressionPtr e) {
    ExpressionPtr bounds[3];
    int count = 0;
    bool is_slice = false;
    while (!is_symbol("]")) {
      if (take_symbol(":")) {
        is_slice = true;
        if (++count > 2) fail_here("a slice has at most three parts");
      } else {
        bounds[count] = parse_tuple(true);
        if (!is_symbol(":") && !is_symbol("]")) fail_here(fmt::format("expected ']' before '{}'", peek().text));
      }
    }
    next();
    if (is_slice)
      return make_of(ExpressionKind::slice, {}, std::move(e), std::move(bounds[0]), std::move(bounds[1]),
                     std::move(bounds[2]));
    if (bounds[0] == nullptr) fail_here("an index is missing");
    return make_of(ExpressionKind::item, {}, std::move(e), std::move(bounds[0]));
  }

  std::vector<Argument> parse_arguments() {
    std::vector<Argument> arguments;
    expect_symbol("(");
    while (!take_symbol(")")) {
      if (!arguments.empty()) {
        expect_symbol(",");
        if (take_symbol(")")) break;
      }
      Argument a;
      if (take_symbol("**")) {
        a.kind = Argument::Kind::mapping;
      } else if (take_symbol("*")) {
        a.kind = Argument::Kind::list;
      } else if (peek().kind == Kind::name && is_symbol("=", 1)) {
        a.kind = Argument::Kind::keyword;
        a.name = next().text;
        next();
      }
      a.value = parse_expression();
      arguments.push_back(std::move(a));
    }
    return arguments;
  }

  /// Filters and tests after an expression. `begins`: the first filter has no '|' before it.
  ExpressionPtr parse_filters(ExpressionPtr e, bool is_first) {
    while (true) {
      if (is_first || take_symbol("|")) {
        is_first = false;
        std::string name = expect_name();
        while (take_symbol(".")) name += "." + expect_name();
        ExpressionPtr filter = create_expression(ExpressionKind::filter, std::move(name));
        if (e == nullptr) e = create_expression(ExpressionKind::name);  // text of a block, a variable without a name
        filter->operands.push_back(std::move(e));
        if (is_symbol("(")) filter->arguments = parse_arguments();
        e = std::move(filter);
      } else if (e != nullptr && take_word("is")) {
        const bool is_negated = take_word("not");
        ExpressionPtr test =
            create_expression(ExpressionKind::test, peek().kind == Kind::name ? next().text : expect_name());
        test->operands.push_back(std::move(e));
        if (is_symbol("(")) {
          test->arguments = parse_arguments();
        } else if (begins_test_argument()) {
          Argument a;
          a.value = parse_postfix(parse_primary());
          test->arguments.push_back(std::move(a));
        }
        e = std::move(test);
        if (is_negated) e = make_of(ExpressionKind::logical_not, {}, std::move(e));
      } else if (e != nullptr && is_symbol("(")) {
        ExpressionPtr call = make_of(ExpressionKind::call, {}, std::move(e));
        call->arguments = parse_arguments();
        e = std::move(call);
      } else {
        return e;
      }
    }
  }
  /// True for an argument without brackets: `is divisibleby 3`.
  bool begins_test_argument() const {
    const Kind k = peek().kind;
    if (k == Kind::string || k == Kind::integer || k == Kind::number || is_symbol("[") || is_symbol("{")) return true;
    if (k != Kind::name) return false;
    for (const char* word : {"else", "or", "and", "if", "is", "not", "in", "recursive"}) {
      if (is_word(word)) return false;
    }
    return true;
  }

  std::vector<Token> tokens_;
  std::size_t position_ = 0;
  int depth_ = 0, loops_ = 0;
};

}  // namespace

Body parse_template(std::string_view source) {
  return Parser(source).parse();
}

}  // namespace tern::jinja
