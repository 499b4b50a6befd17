// Syntax tree of an expression's text (expr_text.h), and its parser.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schema/pointwise.h"

namespace tern {

struct ExprSyntax {
  enum class Kind { number, name, operation, boolean_and, boolean_or, boolean_not, to_boolean, rounded, typed };
  Kind kind = Kind::number;
  Scalar op = Scalar::invalid;        ///< operation
  std::vector<std::size_t> operands;  ///< operands, numbers of earlier nodes
  double number = 0;
  std::int64_t integer = 0;  ///< value of an integer literal; axis of an index
  bool is_integer = false;
  DType dtype = DType::invalid;  ///< typed
  std::string_view name;         ///< into the text
};

struct ExprTree {
  std::vector<ExprSyntax> nodes;
  std::size_t root = 0;
};

/// Fails (internal) if the text breaks the grammar.
ExprTree parse_expr(std::string_view text);

}  // namespace tern
