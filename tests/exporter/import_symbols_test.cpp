// Symbolic sizes: ranges, expressions, arithmetic of the host, numbers read off tensors.
#include <gtest/gtest.h>

#include "exporter/import/sym_expr.h"
#include "tests/exporter/traced_model.h"

namespace tern::testing {
namespace {

/// The value of an expression for s = `s`.
std::int64_t value_at(ExprPool& pool, Dim d, std::int64_t s) {
  if (d.is_const()) return d.value();
  std::vector<std::int64_t> values(pool.nodes().size());
  const std::vector<std::int64_t> symbols(pool.symbols().size(), s);
  evaluate(pool.nodes(), symbols, values);
  return values[d.index()];
}

struct SympyCase {
  const char* text;
  std::int64_t at_5, at_8;
};
class SympyAsSize : public ::testing::TestWithParam<SympyCase> {};

// Expected values: Python's.
TEST_P(SympyAsSize, Evaluates) {
  ExprPool pool;
  std::string text = GetParam().text;
  for (std::size_t index; (index = text.find("$")) != std::string::npos;) text.replace(index, 1, symbol("s0"));
  Dim d;
  std::string why;
  ASSERT_TRUE(importing::to_dim(
      pool, pt2::parse_sympy(text), [&](const pt2::SymNode& n) { return pool.symbol(n.name, 1); }, &d, &why))
      << why;
  EXPECT_EQ(value_at(pool, d, 5), GetParam().at_5) << pool.text(d);
  EXPECT_EQ(value_at(pool, d, 8), GetParam().at_8) << pool.text(d);
}

INSTANTIATE_TEST_SUITE_P(
    All, SympyAsSize,
    ::testing::Values(SympyCase{"Integer(7)", 7, 7}, SympyCase{"Add(Mul(Integer(2), $), Integer(-1))", 9, 15},
                      SympyCase{"Mul(Rational(1, 2), Add($, Integer(1)), Integer(4))", 12, 18},
                      SympyCase{"FloorDiv($, Integer(2))", 2, 4},
                      SympyCase{"CeilToInt(IntTrueDiv($, Integer(2)))", 3, 4},
                      SympyCase{"FloorToInt(IntTrueDiv($, Integer(3)))", 1, 2},
                      SympyCase{"TruncToInt(Mul(Float('1.5', precision=53), ToFloat($)))", 7, 12},
                      SympyCase{"TruncToInt(FloatTrueDiv(ToFloat(Mul(Integer(-1), $)), Float('2.0', precision=53)))",
                                -2, -4},
                      SympyCase{"RoundToInt(IntTrueDiv($, Integer(2)))", 2, 4},
                      SympyCase{"RoundToInt(IntTrueDiv($, Integer(3)))", 2, 3}, SympyCase{"Mod($, Integer(3))", 2, 2},
                      SympyCase{"PythonMod(Mul(Integer(-1), $), Integer(3))", 1, 1},
                      SympyCase{"Max(Integer(6), $)", 6, 8}, SympyCase{"Min(Integer(6), $)", 5, 6},
                      SympyCase{"Pow($, Integer(2))", 25, 64}, SympyCase{"PowByNatural(Integer(2), $)", 32, 256},
                      SympyCase{"Where(StrictLessThan($, Integer(6)), Integer(1), $)", 1, 8},
                      SympyCase{"Mul($, Pow(Integer(4), Integer(-1)), Integer(4))", 5, 8},
                      SympyCase{"LShift($, Integer(2))", 20, 32}));

TEST(ImportSymbols, FunctionsOfRealNumbersAreNamed) {
  ExprPool pool;
  Dim d;
  std::string why;
  const auto expr = pt2::parse_sympy("TruncToInt(OpaqueUnaryFn_sqrt(" + symbol("s0") + "))");
  EXPECT_FALSE(importing::to_dim(
      pool, expr, [&](const pt2::SymNode& n) { return pool.symbol(n.name); }, &d, &why));
  EXPECT_NE(why.find("sqrt"), std::string::npos) << why;
}

TEST(ImportSymbols, InputsCarryTheirExpressionsAndRanges) {
  TracedModel m;
  m.range("s7", 3, 9);
  const std::string twice = "Add(Mul(Integer(2), " + symbol("s7") + "), Integer(1))";
  m.user("x", meta_of({size(symbol("s7")), size(3)}));
  m.user("y", meta_of({size(twice), size(3)}));
  m.node("torch.ops.aten.cat.default", {{"tensors", tensors({"x", "y"})}},
         {{"cat", meta_of({size(symbol("s7")), size(3)})}});
  m.result("cat");
  Program p = m.load();
  ASSERT_EQ(p.pool.symbols().size(), 1u);
  EXPECT_EQ(p.pool.symbols()[0].min, 3);
  EXPECT_EQ(p.pool.symbols()[0].max, 9);
  const Function& f = p.functions[0];
  EXPECT_EQ(p.pool.text(f.values[static_cast<std::size_t>(f.inputs[1].value)].type.shape[0]), "2*s7 + 1");
  EXPECT_EQ(p.pool.text(f.values[static_cast<std::size_t>(f.outputs[0].value)].type.shape[0]), "3*s7 + 1");
}

TEST(ImportSymbols, LowerBoundThatOnlySpecialisationMadeIsNone) {
  struct Range {
    Json written;
    std::int64_t read;
  };
  // Dim("n"), Dim("n", min=1), Dim.AUTO or Dim.DYNAMIC, Dim("n", min=3); older files write no bound.
  for (const Range& r : {Range{0, 0}, Range{1, 1}, Range{2, 0}, Range{3, 3}, Range{nullptr, 0}, Range{-5, 0}}) {
    TracedModel m;
    m.range("s7", r.written, nullptr);
    m.user("x", meta_of({size(symbol("s7"))}));
    m.result("x");
    EXPECT_EQ(m.load().pool.symbols().at(0).min, r.read) << r.written;
  }
}

TEST(ImportSymbols, ArithmeticOfTheHostBecomesSizes) {
  TracedModel m;
  m.range("s7", 2, 9);
  m.user("x", meta_of({size(symbol("s7")), size(4)}));
  m.int_node("torch.ops.aten.sym_size.int", {{"self", tensor("x")}, {"dim", integer(0)}}, "n", size(symbol("s7")));
  m.int_node("_operator.mul", {{"a", sym_int("n")}, {"b", integer(2)}}, "twice",
             size("Mul(Integer(2), " + symbol("s7") + ")"));
  m.node("torch.ops.aten.view.default",
         {{"self", tensor("x")}, {"size", {{"as_sym_ints", {{{"as_name", "twice"}}, {{"as_int", 2}}}}}}},
         {{"v", meta_of({size(2), size(2)})}});
  m.result("v");
  m.result_value(sym_int("twice"));
  Program p = m.load();
  const Function& f = p.functions[0];
  EXPECT_EQ(p.pool.text(f.values[static_cast<std::size_t>(f.outputs[0].value)].type.shape[0]), "2*s7");
  EXPECT_EQ(f.outputs[1].kind, FunctionOutput::Kind::integer);
}

TEST(ImportSymbols, AnIntegerInputBindsItsSymbol) {
  TracedModel m;
  m.range("s3", 0, 10);
  m.user("x", meta({12}));
  m.user_int("n", size(symbol("s3")));
  m.node("torch.ops.aten.narrow.default",
         {{"self", tensor("x")}, {"dim", integer(0)}, {"start", integer(0)}, {"length", sym_int("n")}},
         {{"narrow", meta_of({size(symbol("s3"))})}});
  m.result("narrow");
  const Program p = m.load();
  const Function& f = p.functions[0];
  ASSERT_EQ(f.inputs.size(), 2u);
  EXPECT_EQ(f.values[static_cast<std::size_t>(f.inputs[1].value)].type.dtype, DType::i64);
  ASSERT_FALSE(f.nodes.empty());
  EXPECT_EQ(f.nodes[0].op, Op::item);
  EXPECT_EQ(p.pool.text(f.nodes[0].dims(AttrKey::symbols)[0]), "s3");
}

TEST(ImportSymbols, AssertionsThatRangesProveAreDropped) {
  TracedModel m;
  m.range("u0", 0, 6);
  m.user("n", meta({}, kI64));
  m.user("x", meta({6}));
  m.int_node("torch.ops.aten.item.default", {{"self", tensor("n")}}, "item", size(symbol("u0")));
  for (const auto& [name, bound] : {std::pair{"ge", 0}, std::pair{"ge_1", 3}}) {
    m.bool_node("_operator.ge", {{"a", sym_int("item")}, {"b", integer(bound)}}, name,
                "GreaterThan(" + symbol("u0") + ", Integer(" + std::to_string(bound) + "))");
    m.node("torch.ops.aten._assert_scalar.default",
           {{"self", sym_bool(name)}, {"assert_msg", {{"as_string", std::string("not ") + name}}}}, {});
  }
  m.result("x");
  const Program p = m.load();
  std::vector<std::string> texts;
  for (const Node& n : p.functions[0].nodes) {
    if (n.op == Op::assert_dim) texts.push_back(n.text(AttrKey::text));
  }
  EXPECT_EQ(texts, std::vector<std::string>{"not ge_1"});
}

TEST(ImportSymbols, SizesThroughFloatsUseTheRecordedExpression) {
  TracedModel m;
  m.range("s7", 2, 9);
  m.user("x", meta_of({size(symbol("s7"))}));
  m.int_node("torch.ops.aten.sym_size.int", {{"self", tensor("x")}, {"dim", integer(0)}}, "n", size(symbol("s7")));
  m.float_node("_operator.mul", {{"a", sym_int("n")}, {"b", number(1.5)}}, "scaled");
  const std::string floor = "TruncToInt(Mul(Float('1.5', precision=53), ToFloat(" + symbol("s7") + ")))";
  m.int_node("math.trunc", {{"x", sym_float("scaled")}}, "k", size(floor));
  m.node("torch.ops.aten.ones.default", {{"size", {{"as_sym_ints", {{{"as_name", "k"}}}}}}},
         {{"ones", meta_of({size(floor)})}});
  m.result("ones");
  Program p = m.load();
  ASSERT_EQ(p.functions[0].nodes.size(), 1u) << "no node is needed to know the size";
  const Dim d = p.functions[0].values[static_cast<std::size_t>(p.functions[0].outputs[0].value)].type.shape[0];
  EXPECT_EQ(value_at(p.pool, d, 5), 7);
}

TEST(ImportSymbols, SizesThatNeedRealNumbersAreReadOffATensor) {
  TracedModel m;
  m.range("s7", 2, 9);
  m.user("x", meta_of({size(symbol("s7"))}));
  m.int_node("torch.ops.aten.sym_size.int", {{"self", tensor("x")}, {"dim", integer(0)}}, "n", size(symbol("s7")));
  m.float_node("torch._sym_sqrt", {{"a", sym_int("n")}}, "root");
  const std::string expr = "TruncToInt(OpaqueUnaryFn_sqrt(ToFloat(" + symbol("s7") + ")))";
  m.int_node("math.trunc", {{"x", sym_float("root")}}, "k", size(expr));
  m.node("torch.ops.aten.ones.default", {{"size", {{"as_sym_ints", {{{"as_name", "k"}}}}}}},
         {{"ones", meta_of({size(expr)})}});
  m.result("ones");
  const Program p = m.load();
  bool item = false;
  for (const Node& n : p.functions[0].nodes) item = item || n.op == Op::item;
  EXPECT_TRUE(item);
}

TEST(ImportSymbols, ModelsOfOneFileKeepTheirSymbolsApart) {
  std::vector<ZipItem> items;
  for (const auto& [name, max] : {std::pair{"decode", 1}, std::pair{"prefill", 64}}) {
    TracedModel m;
    m.range("s7", 1, max);
    m.user("x", meta_of({size(symbol("s7"))}));
    m.node("torch.ops.aten.neg.default", {{"self", tensor("x")}}, {{"neg", meta_of({size(symbol("s7"))})}});
    m.result("neg");
    for (ZipItem& item : m.items(name)) items.push_back(std::move(item));
  }
  const std::string archive = TracedModel::write_archive(items);
  const Program p = import_pt2(open_text(archive));
  ASSERT_GE(p.find_entry("decode"), 0);
  ASSERT_GE(p.find_entry("prefill"), 0);
  ASSERT_EQ(p.pool.symbols().size(), 2u);
  EXPECT_EQ(p.pool.symbols()[0].max, 1);
  EXPECT_EQ(p.pool.symbols()[1].max, 64);
}

}  // namespace
}  // namespace tern::testing
