// Readable text of size expressions.
#include <bit>
#include <cstdio>

#include "schema/real_functions.h"

namespace tern {

std::string ExprPool::text(Dim d) const {
  int budget = 240;  // 2 per node, 1 per letter of a name: hostile files have long names
  return d.is_const() ? std::to_string(d.value()) : text_of(d.index(), &budget);
}

std::string ExprPool::text_of(std::uint32_t node, int* budget) const {
  *budget -= 2;
  if (*budget < 0) return "...";
  const ExprNode& n = nodes_[node];
  auto operand_text = [&](std::uint32_t i) { return text_of(i, budget); };
  auto wrapped = [&](std::uint32_t i) {
    const bool is_atomic =
        nodes_[i].op == ExprOp::constant || nodes_[i].op == ExprOp::symbol || nodes_[i].op == ExprOp::mul;
    return is_atomic ? operand_text(i) : "(" + operand_text(i) + ")";
  };
  // Operand of an operation on doubles: constants hold the bits of a double.
  auto real = [&](std::uint32_t i) {
    if (nodes_[i].op != ExprOp::constant) return wrapped(i);
    char text[32];
    std::snprintf(text, sizeof text, "%.12g", std::bit_cast<double>(nodes_[i].value));
    return std::string(text);
  };
  switch (n.op) {
    case ExprOp::constant: return std::to_string(n.value);
    case ExprOp::symbol: {
      const std::string& name = symbols_[static_cast<std::size_t>(n.value)].name;
      *budget -= static_cast<int>(name.size());
      return name;
    }
    case ExprOp::add: return operand_text(n.a) + " + " + operand_text(n.b);
    case ExprOp::mul: return wrapped(n.a) + "*" + wrapped(n.b);
    case ExprOp::floordiv: return wrapped(n.a) + "//" + wrapped(n.b);
    case ExprOp::mod: return wrapped(n.a) + "%" + wrapped(n.b);
    case ExprOp::min: return "min(" + operand_text(n.a) + ", " + operand_text(n.b) + ")";
    case ExprOp::max: return "max(" + operand_text(n.a) + ", " + operand_text(n.b) + ")";
    case ExprOp::eq: return wrapped(n.a) + " == " + wrapped(n.b);
    case ExprOp::ne: return wrapped(n.a) + " != " + wrapped(n.b);
    case ExprOp::lt: return wrapped(n.a) + " < " + wrapped(n.b);
    case ExprOp::le: return wrapped(n.a) + " <= " + wrapped(n.b);
    case ExprOp::logical_and: return wrapped(n.a) + " and " + wrapped(n.b);
    case ExprOp::logical_or: return wrapped(n.a) + " or " + wrapped(n.b);
    case ExprOp::logical_not: return "not " + wrapped(n.a);
    case ExprOp::select:
      return "(" + operand_text(n.b) + " if " + operand_text(n.a) + " else " + operand_text(n.c) + ")";
    case ExprOp::pow: return wrapped(n.a) + "**" + wrapped(n.b);
    case ExprOp::shl: return wrapped(n.a) + " << " + wrapped(n.b);
    case ExprOp::shr: return wrapped(n.a) + " >> " + wrapped(n.b);
    case ExprOp::bit_and: return wrapped(n.a) + " & " + wrapped(n.b);
    case ExprOp::bit_or: return wrapped(n.a) + " | " + wrapped(n.b);
    case ExprOp::bit_xor: return wrapped(n.a) + " ^ " + wrapped(n.b);
    case ExprOp::to_real: return "float(" + operand_text(n.a) + ")";
    case ExprOp::real_to_int: return "int(" + real(n.a) + ")";
    case ExprOp::real_add: return real(n.a) + " + " + real(n.b);
    case ExprOp::real_mul: return real(n.a) + "*" + real(n.b);
    case ExprOp::real_div: return real(n.a) + "/" + real(n.b);
    case ExprOp::real_pow: return real(n.a) + "**" + real(n.b);
    case ExprOp::real_lt: return real(n.a) + " < " + real(n.b);
    case ExprOp::real_le: return real(n.a) + " <= " + real(n.b);
    case ExprOp::real_eq: return real(n.a) + " == " + real(n.b);
    case ExprOp::real_function: {
      const std::int64_t k = nodes_[n.b].op == ExprOp::constant ? nodes_[n.b].value : -1;
      return std::string(k >= 0 && k < kRealFunctionCount ? kRealFunctionNames[k] : "f") + "(" + real(n.a) + ")";
    }
    case ExprOp::real_round: return "round(" + real(n.a) + ", " + operand_text(n.b) + ")";
  }
  return "?";
}

}  // namespace tern
