// Syntax tree of a template.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/value.h"

namespace tern::jinja {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

enum class ExpressionKind : std::uint8_t {
  constant,
  name,
  list,
  tuple,
  dict,         ///< operands: key, value, key, value
  attribute,    ///< operands[0].text
  item,         ///< operands[0][operands[1]]
  slice,        ///< operands[0][operands[1] : operands[2] : operands[3]], null for absent bounds
  call,         ///< operands[0](arguments)
  filter,       ///< operands[0] | text(arguments); without an operand for a filter block
  test,         ///< operands[0] is text(arguments)
  negate,       ///< -x
  plus,         ///< +x
  logical_not,  ///< not x
  logical_and,
  logical_or,
  binary,       ///< operands[0] text operands[1]
  compare,      ///< operands[0] operators[0] operands[1] operators[1] ...
  conditional,  ///< operands[0] if operands[1] else operands[2] (null: undefined)
};

struct Argument {
  enum class Kind : std::uint8_t { positional, keyword, list, mapping } kind = Kind::positional;
  std::string name;
  ExpressionPtr value;
};

struct Expression {
  ExpressionKind kind{};
  int line = 1;
  std::string text;
  Value constant;
  std::vector<ExpressionPtr> operands;
  std::vector<Argument> arguments;
  std::vector<std::string> operators;
};

struct Statement;
using Body = std::vector<std::unique_ptr<Statement>>;

enum class StatementKind : std::uint8_t {
  text,
  output,
  loop,
  branch,
  set,  ///< targets = value, or targets = text of the body
  macro,
  call,       ///< value is the call; the body is its caller()
  filter,     ///< value's filters change the text of the body
  with,       ///< targets = values in a scope of the body
  group,      ///< the body as it is
  end_loop,   ///< break
  next_loop,  ///< continue
};

/// Target of an assignment: a name, an attribute of a namespace, or several names.
struct Target {
  std::string name, attribute;
  std::vector<Target> elements;
};

struct Parameter {
  std::string name;
  ExpressionPtr value;  ///< default, or null
};

struct Statement {
  StatementKind kind{};
  int line = 1;
  std::string text;  ///< text, or name of a macro
  ExpressionPtr value, condition;
  Target target;
  std::vector<Parameter> parameters;
  std::vector<std::pair<ExpressionPtr, Body>> branches;  ///< conditions of `if` with bodies
  std::vector<std::pair<Target, ExpressionPtr>> assignments;
  Body body, otherwise;
};

/// Throws bad_file for a template with errors, unsupported for tags beyond those of chat templates (include, extends).
Body parse_template(std::string_view source);

}  // namespace tern::jinja
