// Reads sympy's srepr strings, "Add(Mul(Integer(2), Symbol('s77')), Integer(-1))", into flat expressions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tern::pt2 {

/// Functions of sympy and torch.utils._sympy.functions found in exported programs.
enum class SymOp : std::uint8_t {
  unknown,   ///< any other function: name, children
  integer,   ///< value
  rational,  ///< value / denominator
  real,      ///< real
  symbol,    ///< name, positive, is_integer
  boolean,   ///< value: 0 or 1
  infinity,  ///< value: 1 or -1
  add,       ///< any number of children, as mul, min, max, and, or
  mul,
  min,
  max,
  logical_and,
  logical_or,
  logical_not,
  pow,  ///< sympy's Pow: exact; an exponent of -1 is a division
  pow_by_natural,
  float_pow,
  mod,         ///< sympy's and torch's Mod: both operands not negative
  python_mod,  ///< the sign of the divisor
  floor_div,   ///< rounds toward minus infinity
  clean_div,   ///< divides without a remainder
  ceil_div,
  int_true_div,
  float_true_div,
  to_float,
  ceil_to_int,
  floor_to_int,
  trunc_to_int,
  trunc_to_float,
  round_to_int,
  round_decimal,
  floor,
  ceiling,
  abs,
  where,      ///< condition, then, else
  piecewise,  ///< pairs of value and condition in sequence
  identity,
  left_shift,
  right_shift,
  bitwise_and,
  bitwise_or,
  bitwise_xor,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  modular_indexing,
  opaque_unary,  ///< OpaqueUnaryFn_sqrt: name is "sqrt"
};

struct SymNode {
  SymOp op = SymOp::unknown;
  bool positive = false;
  bool is_integer = false;
  bool nonnegative = false;
  std::uint32_t first_child = 0;  ///< in SymExpr::children
  std::uint32_t child_count = 0;
  std::int64_t value = 0;
  std::int64_t denominator = 1;
  double real = 0;
  std::string name;
};

/// Children precede their parents; the last node is the root.
struct SymExpr {
  std::vector<SymNode> nodes;
  std::vector<std::uint32_t> children;  ///< indices of nodes

  const SymNode& root() const { return nodes.back(); }
  std::span<const std::uint32_t> children_of(const SymNode& node) const {
    return {children.data() + node.first_child, node.child_count};
  }
};

/// Nesting deeper than this is refused.
inline constexpr int kMaxSymDepth = 256;

/// Throws Error: bad_file, with the position in the text.
SymExpr parse_sympy(std::string_view srepr);

/// Text for messages: "2*s77 - 1".
std::string to_text(const SymExpr& expr);

/// Name of a range_constraints key made of a single symbol ("s77"); nothing for other keys ("s77 + 1").
std::optional<std::string_view> plain_symbol(std::string_view text);

}  // namespace tern::pt2
