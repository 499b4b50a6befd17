#include <gtest/gtest.h>

#include "exporter/pt2/sympy.h"
#include "tests/exporter/pt2_sample.h"

namespace tern::pt2::test {
namespace {

std::string text_of(std::string_view srepr) {
  return to_text(parse_sympy(srepr));
}
std::string sympy_error(std::string_view srepr) {
  return error_of([&] { parse_sympy(srepr); });
}

// Output of sympy.srepr, and the formula.
TEST(Pt2Sympy, PrintsFormulas) {
  const std::pair<const char*, const char*> cases[] = {
      {"Symbol('s77', positive=True, integer=True)", "s77"},
      {"Add(Mul(Integer(2), Symbol('s77', positive=True, integer=True)), Integer(-1))", "2*s77 - 1"},
      {"Add(Symbol('s17'), Mul(Integer(-1), Symbol('s27')))", "s17 - s27"},
      {"Add(Symbol('s17'), Mul(Integer(-3), Symbol('s27')))", "s17 - 3*s27"},
      {"Mul(Integer(8), Add(Symbol('a'), Integer(1)))", "8*(a + 1)"},
      {"Mul(Integer(-1), Symbol('a'))", "-a"},
      {"Add(FloorDiv(Mul(Symbol('a'), Symbol('b')), Integer(2)), Integer(1))", "(a*b)//2 + 1"},
      {"Mod(Add(Symbol('a'), Integer(1)), Integer(16))", "(a + 1) % 16"},
      {"PythonMod(Symbol('a'), Integer(4))", "a % 4"},
      {"Min(Integer(8), Mul(Integer(8), Symbol('s27')))", "Min(8, 8*s27)"},
      {"Max(Integer(1), Symbol('u0'))", "Max(1, u0)"},
      {"Pow(Symbol('a'), Integer(2))", "a**2"},
      {"Mul(Rational(1, 2), Symbol('a'))", "1/2*a"},
      {"GreaterThan(Symbol('u0'), Integer(0))", "u0 >= 0"},
      {"And(StrictLessThan(Symbol('a'), Integer(4)), Not(Equality(Symbol('b'), Integer(1))))", "a < 4 and not b == 1"},
      {"FloatPow(ToFloat(Symbol('a')), Float('0.5', precision=53))", "ToFloat(a)**0.5"},
      {"IntTrueDiv(Symbol('a'), Integer(2))", "a/2"},
      {"TruncToInt(FloatTrueDiv(ToFloat(Symbol('a')), Float('2.0', precision=53)))", "TruncToInt(ToFloat(a)/2)"},
      {"OpaqueUnaryFn_sqrt(Symbol('a'))", "sqrt(a)"},
      {"torch.utils._sympy.functions.CeilDiv(Symbol('a'), Integer(2))", "CeilDiv(a, 2)"},
      {"Where(Equality(Symbol('a'), Integer(1)), Integer(2), Integer(3))", "Where(a == 1, 2, 3)"},
      {"SomethingNew(Symbol('a'), Integer(2))", "SomethingNew(a, 2)"},
      {"true", "true"},
      {"oo", "oo"},
      {"-int_oo", "-oo"},
      {"Integer(-9223372036854775808)", "-9223372036854775808"},
  };
  for (const auto& [srepr, formula] : cases) EXPECT_EQ(text_of(srepr), formula) << srepr;
}

TEST(Pt2Sympy, PutsChildrenBeforeParents) {
  const SymExpr expr = parse_sympy("Add(Mul(Integer(2), Symbol('s77', positive=True, integer=True)), Rational(-1, 3))");
  for (std::size_t i = 0; i < expr.nodes.size(); ++i)
    for (const auto child : expr.children_of(expr.nodes[i])) EXPECT_LT(child, i);
  EXPECT_EQ(expr.root().op, SymOp::add);
  const SymNode& symbol = expr.nodes[1];
  EXPECT_EQ(symbol.name, "s77");
  EXPECT_TRUE(symbol.positive);
  EXPECT_TRUE(symbol.is_integer);
  EXPECT_FALSE(symbol.nonnegative);
  const SymNode& third = expr.nodes[expr.children_of(expr.root())[1]];
  EXPECT_EQ(third.value, -1);
  EXPECT_EQ(third.denominator, 3);
}

TEST(Pt2Sympy, FlattensPiecewise) {
  const SymExpr expr = parse_sympy(
      "Piecewise(ExprCondPair(Integer(5), StrictLessThan(Symbol('a'), Integer(1))), ExprCondPair(Symbol('a'), true))");
  EXPECT_EQ(expr.root().op, SymOp::piecewise);
  ASSERT_EQ(expr.root().child_count, 4u);
  EXPECT_EQ(expr.nodes[expr.children_of(expr.root())[1]].op, SymOp::lt);
  EXPECT_EQ(expr.nodes[expr.children_of(expr.root())[3]].op, SymOp::boolean);
}

TEST(Pt2Sympy, KeepsUnknownFunctions) {
  const SymExpr expr = parse_sympy("Foo(Bar(), Integer(1))");
  EXPECT_EQ(expr.root().op, SymOp::unknown);
  EXPECT_EQ(expr.root().name, "Foo");
  EXPECT_EQ(expr.root().child_count, 2u);
}

TEST(Pt2Sympy, RefusesBadExpressions) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "expected a value"},
      {"Add(", "expected a value"},
      {"Add(Integer(1)", "expected ','"},
      {"Add(Integer(1),)", "expected a value"},
      {"Add(Integer(1)) x", "expected the end"},
      {"Add()", "a function has a wrong number of arguments, 0"},
      {"Mod(Integer(1))", "a function has a wrong number of arguments, 1"},
      {"Where(true, Integer(1))", "a function has a wrong number of arguments, 2"},
      {"Integer()", "Integer takes one number"},
      {"Integer(1, 2)", "Integer takes one number"},
      {"Integer(9223372036854775808)", "does not fit in 64 bits"},
      {"Rational(1, 0)", "Rational takes"},
      {"Rational(1, -2)", "Rational takes"},
      {"Float('abc')", "Float takes a number"},
      {"Float()", "Float takes a number"},
      {"Symbol()", "a symbol has no name"},
      {"Symbol('a", "a string is not closed"},
      {"Symbol('a', 'b')", "a string is not allowed here"},
      {"Symbol('a', Integer(1))", "has arguments"},
      {"Add('a', Integer(1))", "a string is not allowed here"},
      {"'a'", "a string is not allowed here"},
      {"a=True", "expected an expression"},
      {"-Add(Integer(1))", "expected a number"},
      {"ExprCondPair(Integer(1), true)", "only allowed in Piecewise"},
      {"Piecewise(ExprCondPair(Integer(1)))", "only allowed in Piecewise"},
      {"Add(Foo( )Integer(1))", "expected ','"},
  };
  for (const auto& [srepr, says] : cases)
    EXPECT_NE(sympy_error(srepr).find(says), std::string::npos) << srepr << ": " << sympy_error(srepr);
  EXPECT_NE(sympy_error("Add(Integer(1), ?)").find("column 17"), std::string::npos);
}

TEST(Pt2Sympy, LimitsDepth) {
  const auto nested = [](int depth) {
    std::string text;
    for (int i = 0; i < depth; ++i) text += "Abs(";
    text += "oo";
    return text + std::string(static_cast<std::size_t>(depth), ')');
  };
  EXPECT_EQ(sympy_error(nested(kMaxSymDepth)), "");
  EXPECT_NE(sympy_error(nested(kMaxSymDepth + 1)).find("nested deeper than 256 levels"), std::string::npos);
  EXPECT_NE(sympy_error(nested(1'000'000)).find("nested deeper"), std::string::npos);
  EXPECT_EQ(text_of(nested(kMaxSymDepth)).size(), kMaxSymDepth * 5 + 2);
}

TEST(Pt2Sympy, TellsPlainSymbols) {
  EXPECT_EQ(plain_symbol("s77"), "s77");
  EXPECT_EQ(plain_symbol("s77 + 1"), std::nullopt);
  EXPECT_EQ(plain_symbol("2"), std::nullopt);
  EXPECT_EQ(plain_symbol(""), std::nullopt);
}

}  // namespace
}  // namespace tern::pt2::test
