#include "tests/gpu/ptx/parser.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <span>

#include "tests/gpu/ptx/error.h"
#include "tests/gpu/ptx/tokens.h"

namespace tern::emulated {

std::string Instruction::text() const {
  std::string text = opcode;
  for (const std::string& qualifier : qualifiers) text += "." + qualifier;
  return text;
}

namespace {

using namespace std::string_view_literals;

constexpr std::array kSpaces = {".global"sv, ".const"sv, ".shared"sv, ".local"sv, ".param"sv};
constexpr std::array kLinkage = {".visible"sv, ".extern"sv, ".weak"sv, ".common"sv};
// Function directives without effect here; each is followed by numbers.
constexpr std::array kHints = {".minnctapersm"sv, ".maxnreg"sv, ".noreturn"sv, ".maxclusterrank"sv, ".abi_preserve"sv};

bool among(std::span<const std::string_view> all, std::string_view text) {
  return std::find(all.begin(), all.end(), text) != all.end();
}

class Parser {
 public:
  explicit Parser(std::string_view ptx) : tokens_(tokenize(ptx)) {}

  Module run() {
    while (peek().kind != TokenKind::kEnd) item();
    return std::move(module_);
  }

 private:
  const Token& peek(std::size_t ahead = 0) const { return tokens_[std::min(position_ + ahead, tokens_.size() - 1)]; }
  const Token& next() { return tokens_[std::min(position_++, tokens_.size() - 1)]; }
  bool is_next(std::string_view text) const { return peek().text == text && peek().kind != TokenKind::kString; }
  bool accept(std::string_view text) {
    if (!is_next(text)) return false;
    ++position_;
    return true;
  }
  [[noreturn]] void fail(const std::string& what) const { throw TranslationError(peek().line, what); }
  void expect(std::string_view text) {
    if (!accept(text)) fail("expected '" + std::string(text) + "' before '" + std::string(peek().text) + "'");
  }
  std::string name() {
    if (peek().kind != TokenKind::kName) fail("expected a name before '" + std::string(peek().text) + "'");
    return std::string(next().text);
  }
  void skip_past(std::string_view text) {
    while (!is_next(text) && peek().kind != TokenKind::kEnd) ++position_;
    expect(text);
  }
  void skip_line() {
    const int line = peek().line;
    while (peek().line == line && peek().kind != TokenKind::kEnd) ++position_;
  }

  // ---- Numbers ----
  struct Number {
    std::uint64_t bits = 0;
    int float_width = 0;
  };
  Number number() {
    const bool minus = accept("-");
    if (peek().kind != TokenKind::kNumber) fail("expected a number before '" + std::string(peek().text) + "'");
    std::string text(next().text);
    if (text.size() > 2 && text[0] == '0' && std::strchr("fFdD", text[1])) {
      const bool single = text[1] == 'f' || text[1] == 'F';
      if (minus || text.size() != (single ? 10 : 18)) fail("'" + text + "' is not a number");
      return {std::strtoull(text.c_str() + 2, nullptr, 16), single ? 32 : 64};
    }
    if (text.find('.') != std::string::npos) {
      const double value = std::strtod(text.c_str(), nullptr) * (minus ? -1 : 1);
      Number number{0, 64};
      std::memcpy(&number.bits, &value, sizeof value);
      return number;
    }
    if (text.back() == 'U') text.pop_back();
    const bool binary = text.size() > 2 && text[0] == '0' && (text[1] == 'b' || text[1] == 'B');
    char* end = nullptr;
    const char* start = text.c_str() + (binary ? 2 : 0);
    const std::uint64_t value = std::strtoull(start, &end, binary ? 2 : 0);
    if (*end) fail("'" + text + "' is not a number");
    return {minus ? 0 - value : value, 0};
  }
  std::uint64_t integer() {
    const Number value = number();
    if (value.float_width) fail("expected an integer");
    return value.bits;
  }

  // ---- Declarations ----
  //
  // The rest of a variable's declaration after its space, for module variables and parameters.
  Variable variable(std::string_view space) {
    Variable variable;
    variable.line = peek().line;
    variable.space = space.substr(1);
    while (peek().kind == TokenKind::kDotName) {
      const std::string_view word = next().text;
      if (word == ".align") {
        // A pointer parameter declares the alignment of its target.
        const std::uint64_t align = integer();
        if (!pointer_) variable.align = static_cast<int>(align);
      } else if (word == ".ptr") {
        pointer_ = true;
      } else if (word == ".attribute") {
        skip_past(")");
      } else if (among(kSpaces, word) && pointer_) {
      } else if (variable.type.empty()) {
        variable.type = word.substr(1);
      } else {
        fail("unknown word '" + std::string(word) + "' of a variable");
      }
    }
    pointer_ = false;
    variable.name = name();
    while (accept("[")) {
      variable.is_array = true;
      variable.count *= is_next("]") ? 0 : integer();
      expect("]");
    }
    if (accept("=")) initializer(variable);
    return variable;
  }

  void initializer(Variable& variable) {
    if (accept("{")) {
      while (!accept("}")) {
        if (is_next("{")) {
          initializer(variable);
        } else {
          variable.initial.push_back(initial());
        }
        if (!is_next("}")) expect(",");
      }
    } else {
      variable.initial.push_back(initial());
    }
  }
  Initial initial() {
    Initial value;
    if (peek().kind == TokenKind::kName) {
      value.symbol = name();
      if (value.symbol == "generic") {
        expect("(");
        value.symbol = name();
        expect(")");
      } else if (is_next("(")) {
        fail("'" + value.symbol + "(' in an initializer is not supported");
      }
      if (accept("+")) value.bits = integer();
    } else {
      const Number constant = number();
      value.bits = constant.bits;
      value.float_width = constant.float_width;
    }
    return value;
  }

  std::vector<Variable> parameters() {
    std::vector<Variable> all;
    expect("(");
    while (!accept(")")) {
      const std::string_view space = next().text;
      if (space != ".param" && space != ".reg") fail("expected a parameter before '" + std::string(space) + "'");
      all.push_back(variable(".param"));
      if (!is_next(")")) expect(",");
    }
    return all;
  }

  // ---- The module ----
  void item() {
    bool is_extern = false;
    while (among(kLinkage, peek().text)) is_extern |= next().text == ".extern";
    const std::string_view word = peek().text;
    if (word == ".version" || word == ".target" || word == ".address_size" || word == ".file" || word == ".loc") {
      if (word == ".address_size" && peek(1).text != "64") fail("only 64-bit addresses are supported");
      skip_line();
    } else if (word == ".section") {
      skip_past("{");
      skip_past("}");
    } else if (word == ".entry" || word == ".func") {
      function();
    } else if (among(kSpaces, word)) {
      next();
      module_.variables.push_back(variable(word));
      module_.variables.back().is_extern = is_extern;
      expect(";");
    } else if (word == ".pragma") {
      skip_past(";");
    } else {
      fail("unknown directive '" + std::string(word) + "'");
    }
  }

  void function() {
    Function function;
    function.line = peek().line;
    function.is_entry = next().text == ".entry";
    if (is_next("(")) function.results = parameters();
    function.name = name();
    if (is_next("(")) function.parameters = parameters();
    while (!is_next("{") && !is_next(";")) {
      const std::string_view word = next().text;
      if (word == ".maxntid" || word == ".reqntid") {
        function.most_threads = 1;
        do function.most_threads *= integer();
        while (accept(","));
      } else if (word == ".pragma") {
        skip_past(";");
      } else if (among(kHints, word)) {
        while (peek().kind == TokenKind::kNumber || is_next(",")) next();
      } else {
        fail("unknown directive '" + std::string(word) + "' of a function");
      }
    }
    if (!accept(";")) {
      function.has_body = true;
      expect("{");
      scope(function.body);
    }
    module_.functions.push_back(std::move(function));
  }

  void scope(Scope& scope) {
    while (!accept("}")) {
      if (peek().kind == TokenKind::kEnd) fail("a function does not end");
      Statement statement{StatementKind::kInstruction, peek().line, {}, {}, {}, {}};
      if (accept("{")) {
        statement.kind = StatementKind::kScope;
        statement.scope = std::make_unique<Scope>();
        this->scope(*statement.scope);
        scope.statements.push_back(std::move(statement));
      } else if (peek().kind == TokenKind::kDotName) {
        directive(scope);
      } else if (peek().kind == TokenKind::kName && peek(1).text == ":") {
        const std::string label = name();
        next();
        statement.kind = StatementKind::kLabel;
        statement.label = label;
        if (accept(".branchtargets")) {
          statement.kind = StatementKind::kTargets;
          do statement.targets.push_back(name());
          while (accept(","));
          expect(";");
        } else if (is_next(".callprototype") || is_next(".calltargets")) {
          fail("calls through pointers are not supported");
        }
        scope.statements.push_back(std::move(statement));
      } else if (accept(";")) {
      } else {
        statement.instruction = instruction();
        scope.statements.push_back(std::move(statement));
      }
    }
  }

  void directive(Scope& scope) {
    const std::string_view word = next().text;
    if (word == ".reg") {
      const std::string type(next().text.substr(1));
      do {
        Registers registers{type, name(), -1};
        if (accept("<")) {
          registers.count = static_cast<int>(integer());
          expect(">");
        }
        scope.registers.push_back(std::move(registers));
      } while (accept(","));
      expect(";");
    } else if (among(kSpaces, word)) {
      scope.variables.push_back(variable(word));
      expect(";");
    } else if (word == ".pragma") {
      skip_past(";");
    } else if (word == ".loc") {
      skip_line();
    } else {
      fail("unknown directive '" + std::string(word) + "' in a function");
    }
  }

  // ---- Instructions ----
  Instruction instruction() {
    Instruction instruction;
    instruction.line = peek().line;
    if (accept("@")) {
      instruction.guard_negated = accept("!");
      instruction.guard = name();
    }
    instruction.opcode = name();
    while (peek().kind == TokenKind::kDotName) instruction.qualifiers.emplace_back(next().text.substr(1));
    while (!accept(";")) {
      instruction.operands.push_back(operand());
      if (!is_next(";")) expect(",");
    }
    return instruction;
  }

  Operand operand() {
    Operand first = simple_operand();
    if (!accept("|")) return first;
    Operand pair;
    pair.kind = OperandKind::kPair;
    pair.items.push_back(std::move(first));
    pair.items.push_back(simple_operand());
    return pair;
  }

  Operand simple_operand() {
    Operand operand;
    if (accept("{")) {
      operand.kind = OperandKind::kVector;
      items(operand, "}");
    } else if (accept("(")) {
      operand.kind = OperandKind::kList;
      items(operand, ")");
    } else if (accept("[")) {
      operand.kind = OperandKind::kAddress;
      operand.items.push_back(this->operand());
      if (accept("+"))
        operand.offset = static_cast<std::int64_t>(integer());
      else if (is_next("-"))
        operand.offset = static_cast<std::int64_t>(integer());
      expect("]");
    } else if (accept("_")) {
      operand.kind = OperandKind::kSink;
    } else if (is_next("!") || peek().kind == TokenKind::kName) {
      operand.kind = OperandKind::kName;
      operand.negated = accept("!");
      operand.name = name();
      if (operand.name[0] == '%' && peek().kind == TokenKind::kDotName && !peek().spaced) operand.name += next().text;
      // "variable+4", an address as a value
      if (is_next("+") && peek(1).kind == TokenKind::kNumber) {
        next();
        operand.offset = static_cast<std::int64_t>(integer());
      }
    } else {
      const Number value = number();
      operand.kind = value.float_width ? OperandKind::kFloat : OperandKind::kInteger;
      operand.bits = value.bits;
      operand.float_width = value.float_width;
    }
    return operand;
  }
  void items(Operand& operand, std::string_view end) {
    while (!accept(end)) {
      operand.items.push_back(this->operand());
      if (!is_next(end)) expect(",");
    }
  }

  std::vector<Token> tokens_;
  std::size_t position_ = 0;
  bool pointer_ = false;
  Module module_;
};

}  // namespace

Module parse(std::string_view ptx) {
  return Parser(ptx).run();
}

}  // namespace tern::emulated
