// A size: a constant, or an integer expression over symbols stored in an ExprPool.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace tern {

/// A constant (the usual case, no pool needed) or the number of a node in an ExprPool.
class Dim {
 public:
  constexpr Dim(std::int64_t value = 0) : value_(value) {}  // NOLINT: an integer is a size
  static constexpr Dim node(std::uint32_t index) {
    Dim d(index);
    d.is_node_ = true;
    return d;
  }
  constexpr bool is_const() const { return !is_node_; }
  constexpr bool is(std::int64_t value) const { return !is_node_ && value_ == value; }
  /// The constant; meaningless unless is_const().
  constexpr std::int64_t value() const { return value_; }
  constexpr std::uint32_t index() const { return static_cast<std::uint32_t>(value_); }
  friend constexpr bool operator==(const Dim&, const Dim&) = default;

 private:
  std::int64_t value_;
  bool is_node_ = false;
};
using Dims = std::vector<Dim>;

/// Operation of an expression node. Values are part of the archive format. Comparisons and logic give 0 or 1. Division
/// rounds towards minus infinity and `mod` has the sign of the divisor, like Python's // and %.
enum class ExprOp : std::uint8_t {
  constant = 0,
  symbol = 1,
  add = 2,
  mul = 3,
  floordiv = 4,
  mod = 5,
  min = 6,
  max = 7,
  eq = 8,
  ne = 9,
  lt = 10,
  le = 11,
  logical_and = 12,
  logical_or = 13,
  logical_not = 14,
  select = 15,  ///< a != 0 ? b : c
  pow = 16,     ///< exponent >= 0
  shl = 17,
  shr = 18,
  // Operations on doubles, like Python's. The value of such a node holds the bits of the double.
  to_real = 19,      ///< integer to double
  real_to_int = 20,  ///< toward zero; undefined for NaN and beyond int64
  real_add = 21,
  real_mul = 22,
  real_div = 23,  ///< undefined for a divisor of 0, refused by Python
  real_pow = 24,
  real_lt = 25,  ///< gives 0 or 1; likewise real_le and real_eq
  real_le = 26,
  real_eq = 27,
  real_function = 28,  ///< a: double; b: number of a RealFunction
  real_round = 29,     ///< a: double; b: decimal digits, 0 to 17
  bit_and = 30,        ///< two's complement; likewise bit_or and bit_xor
  bit_or = 31,
  bit_xor = 32,
};
inline constexpr int kExprOpCount = 33;

/// Functions of one double. Numbers are part of the archive format.
enum class RealFunction : std::uint8_t {
  floor,
  ceil,
  trunc,
  round,
  abs,
  sqrt,
  exp,
  log,
  log2,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  tanh
};
inline constexpr int kRealFunctionCount = 18;
/// Number of operands of an ExprOp.
int operand_count(ExprOp op);

/// Operands are numbers of earlier nodes, so cycles are impossible. `value`: the constant or the symbol's number.
struct ExprNode {
  ExprOp op = ExprOp::constant;
  std::uint32_t a = 0, b = 0, c = 0;
  std::int64_t value = 0;
  friend bool operator==(const ExprNode&, const ExprNode&) = default;
};

inline constexpr std::int64_t kNoBound = std::numeric_limits<std::int64_t>::max();

/// A symbolic size. `min` and `max` are inclusive; max is kNoBound if unbounded.
struct Symbol {
  std::string name;
  std::int64_t min = 0;
  std::int64_t max = kNoBound;
};

struct Interval {
  std::int64_t min, max;  ///< inclusive, saturated at the ends of int64
};

/// All expressions and symbols of one program. Equal expressions get equal nodes: sums are stored as sorted linear
/// combinations of products, so `a*b + a` equals `a + b*a`. Not thread-safe while nodes are added.
class ExprPool {
 public:
  /// Finds or adds a symbol with this range (ranges must be known before their use in expressions).
  Dim symbol(const std::string& name, std::int64_t min = 0, std::int64_t max = kNoBound);
  Dim new_symbol(const std::string& prefix, std::int64_t min, std::int64_t max);  ///< adds a new symbol
  const std::vector<Symbol>& symbols() const { return symbols_; }
  const std::vector<ExprNode>& nodes() const { return nodes_; }
  /// Replaces all nodes by already verified nodes of a loader.
  void assign(std::vector<ExprNode> nodes, std::vector<Symbol> symbols);

  Dim add(Dim a, Dim b);
  Dim sub(Dim a, Dim b);
  Dim neg(Dim a);
  Dim mul(Dim a, Dim b);
  Dim floordiv(Dim a, Dim b);
  Dim ceildiv(Dim a, Dim b);
  Dim mod(Dim a, Dim b);
  Dim min(Dim a, Dim b);
  Dim max(Dim a, Dim b);
  Dim eq(Dim a, Dim b);
  Dim ne(Dim a, Dim b);
  Dim lt(Dim a, Dim b);
  Dim le(Dim a, Dim b);
  Dim logical_and(Dim a, Dim b);
  Dim logical_or(Dim a, Dim b);
  Dim logical_not(Dim a);
  Dim select(Dim condition, Dim a, Dim b);
  Dim pow(Dim a, Dim b);
  Dim shift(ExprOp op, Dim a, Dim b);
  Dim bitwise(ExprOp op, Dim a, Dim b);
  /// Returns the constant of a double; -0 becomes 0.
  static Dim real_constant(double value);
  /// Adds a node of an operation on doubles.
  Dim real_node(ExprOp op, Dim a, Dim b = 0);
  Dim product(std::span<const Dim> dims);

  /// Returns the symbol's number if `d` is a symbol alone, else -1.
  int symbol_of(Dim d) const;
  /// Range of `d` implied by the ranges of the symbols.
  Interval bounds(Dim d) const;
  /// True if the difference is provably the constant 0.
  bool proved_equal(Dim a, Dim b);
  /// "2*s0 + 1"
  std::string text(Dim d) const;

 private:
  struct Linear;
  struct NodeHash {
    std::size_t operator()(const ExprNode& n) const;
  };
  Dim intern(const ExprNode& node);
  Interval bounds_of(const ExprNode& node) const;
  std::string text_of(std::uint32_t node, int* budget) const;
  Dim leaf(ExprOp op, Dim a, Dim b = 0, Dim c = 0);
  std::uint32_t operand(Dim d);
  Linear linear(Dim d) const;
  Dim build(const Linear& l);
  Dim product_of(std::vector<std::uint32_t> factors);
  void factors_of(std::uint32_t node, std::vector<std::uint32_t>& out) const;
  bool divide(const Linear& l, Dim divisor, Linear* quotient, Linear* remainder);

  std::vector<ExprNode> nodes_;
  std::vector<Symbol> symbols_;
  std::vector<Interval> bounds_;  ///< parallel to nodes
  std::unordered_map<ExprNode, std::uint32_t, NodeHash> index_;
};

/// Applies `op` with overflow checks. Returns false for overflow, division by zero, negative exponents or shifts, and
/// NaN.
bool apply(ExprOp op, std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t* out);

/// Evaluates every node into `values` (same length as `nodes`) for the given symbols. Nodes without a value (overflow,
/// division by zero, an unset symbol) and nodes depending on them get kUndefined.
inline constexpr std::int64_t kUndefined = std::numeric_limits<std::int64_t>::min();
void evaluate(std::span<const ExprNode> nodes, std::span<const std::int64_t> symbols, std::span<std::int64_t> values);

}  // namespace tern
