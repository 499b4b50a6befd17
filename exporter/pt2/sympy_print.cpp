#include <fmt/format.h>

#include "exporter/pt2/sympy.h"
#include "exporter/pt2/sympy_names.h"

namespace tern::pt2 {
namespace {

// Binding strength of an expression; a weaker expression inside a stronger one needs parentheses.
enum Strength { kOr = 1, kAnd, kNot, kCompare, kBits, kShift, kSum, kProduct, kPower, kAtom };

struct SympyPrintInfix {
  SymOp op;
  const char* sign;
  Strength strength;
};

constexpr SympyPrintInfix kSympyPrintInfix[] = {
    {SymOp::logical_or, " or ", kOr},
    {SymOp::logical_and, " and ", kAnd},
    {SymOp::eq, " == ", kCompare},
    {SymOp::ne, " != ", kCompare},
    {SymOp::lt, " < ", kCompare},
    {SymOp::le, " <= ", kCompare},
    {SymOp::gt, " > ", kCompare},
    {SymOp::ge, " >= ", kCompare},
    {SymOp::bitwise_and, " & ", kBits},
    {SymOp::bitwise_or, " | ", kBits},
    {SymOp::bitwise_xor, " ^ ", kBits},
    {SymOp::left_shift, " << ", kShift},
    {SymOp::right_shift, " >> ", kShift},
    {SymOp::add, " + ", kSum},
    {SymOp::mul, "*", kProduct},
    {SymOp::floor_div, "//", kProduct},
    {SymOp::clean_div, "/", kProduct},
    {SymOp::int_true_div, "/", kProduct},
    {SymOp::float_true_div, "/", kProduct},
    {SymOp::mod, " % ", kProduct},
    {SymOp::python_mod, " % ", kProduct},
    {SymOp::pow, "**", kPower},
    {SymOp::pow_by_natural, "**", kPower},
    {SymOp::float_pow, "**", kPower},
};

const SympyPrintInfix* infix_of(SymOp op) {
  for (const auto& infix : kSympyPrintInfix)
    if (infix.op == op) return &infix;
  return nullptr;
}

// Recurses at most kMaxSymDepth deep, the parser's limit.
class Printer {
 public:
  explicit Printer(const SymExpr& expr) : expr_(expr) {}

  std::string print() {
    node(expr_.root(), kOr);
    return std::move(out_);
  }

 private:
  void node(const SymNode& node, Strength around) {
    const Strength node_strength = strength(node);
    if (node_strength < around) out_ += '(';
    bare(node);
    if (node_strength < around) out_ += ')';
  }

  static Strength strength(const SymNode& node) {
    if (node.op == SymOp::rational) return kProduct;
    if (node.op == SymOp::logical_not) return kNot;
    if (node.op == SymOp::integer) return node.value < 0 ? kSum : kAtom;
    if (node.op == SymOp::real) return node.real < 0 ? kSum : kAtom;
    const SympyPrintInfix* infix = infix_of(node.op);
    return infix ? infix->strength : kAtom;
  }

  void bare(const SymNode& node) {
    switch (node.op) {
      case SymOp::integer: out_ += fmt::format("{}", node.value); return;
      case SymOp::rational: out_ += fmt::format("{}/{}", node.value, node.denominator); return;
      case SymOp::real: out_ += fmt::format("{}", node.real); return;
      case SymOp::symbol: out_ += node.name; return;
      case SymOp::boolean: out_ += node.value ? "true" : "false"; return;
      case SymOp::infinity: out_ += node.value < 0 ? "-oo" : "oo"; return;
      case SymOp::add: sum(node); return;
      case SymOp::mul: product(node); return;
      case SymOp::logical_not:
        out_ += "not ";
        child(node, 0, kNot);
        return;
      default: break;
    }
    if (const SympyPrintInfix* infix = infix_of(node.op)) {
      for (std::uint32_t i = 0; i < node.child_count; ++i) {
        if (i > 0) out_ += infix->sign;
        child(node, i, static_cast<Strength>(infix->strength + 1));
      }
    } else {
      call(node);
    }
  }

  const SymNode& child_of(const SymNode& parent, std::uint32_t i) const {
    return expr_.nodes[expr_.children_of(parent)[i]];
  }
  void child(const SymNode& parent, std::uint32_t i, Strength around) { node(child_of(parent, i), around); }

  // Prints terms with a leading minus as subtractions.
  void sum(const SymNode& parent) {
    for (std::uint32_t i = 0; i < parent.child_count; ++i) {
      const std::size_t start = out_.size();
      child(parent, i, kSum);
      if (i == 0) continue;
      if (out_[start] == '-')
        out_.replace(start, 1, " - ");
      else
        out_.insert(start, " + ");
    }
  }

  void product(const SymNode& parent) {
    std::uint32_t first = 0;
    const SymNode& factor = child_of(parent, 0);
    if (factor.op == SymOp::integer && factor.value < 0 && parent.child_count > 1) {
      out_ += factor.value == -1 ? "-" : fmt::format("{}*", factor.value);
      first = 1;
    }
    for (std::uint32_t i = first; i < parent.child_count; ++i) {
      if (i > first) out_ += '*';
      // Parenthesizes a fraction or quotient: a*(b/c).
      child(parent, i, i == 0 ? kProduct : kPower);
    }
  }

  void call(const SymNode& node) {
    if (node.op == SymOp::unknown || node.op == SymOp::opaque_unary) {
      out_ += node.name;
    } else {
      for (const auto& known : kSymNames)
        if (known.op == node.op) {
          out_ += known.name;
          break;
        }
    }
    if (node.op == SymOp::unknown && node.child_count == 0) return;
    out_ += '(';
    for (std::uint32_t i = 0; i < node.child_count; ++i) {
      if (i > 0) out_ += ", ";
      child(node, i, kOr);
    }
    out_ += ')';
  }

  const SymExpr& expr_;
  std::string out_;
};

}  // namespace

std::string to_text(const SymExpr& expr) {
  return Printer(expr).print();
}

}  // namespace tern::pt2
