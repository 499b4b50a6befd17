// Attacks on expressions and symbols of sizes, and on data-dependent sizes. All hashes are correct.
#include <gtest/gtest.h>

#include "exporter/builder.h"
#include "tests/loader/program_attack.h"

namespace tern::test {
namespace {

// FIELD 12: expressions of sizes.
TEST(ArchiveAttack, Expressions) {
  const auto add = [](Program& p, ExprNode n) {
    std::vector<ExprNode> nodes = p.pool.nodes();
    nodes.push_back(n);
    std::vector<Symbol> symbols = p.pool.symbols();
    // assign() trusts its nodes: the test spoils the bytes instead.
    p.pool.assign(std::move(nodes), std::move(symbols));
  };
  // Lawful, and undefined when evaluated: division by zero, overflow, a huge power.
  const auto constant = [&](Program& p, std::int64_t v) {
    add(p, {ExprOp::constant, 0, 0, 0, v});
    return static_cast<std::uint32_t>(p.pool.nodes().size() - 1);
  };
  for (ExprOp op : {ExprOp::floordiv, ExprOp::mod, ExprOp::pow, ExprOp::shl, ExprOp::mul, ExprOp::add}) {
    for (std::int64_t v : {std::int64_t{0}, kMax, -kMax}) {
      const auto bytes = changed([&](Program& p) {
        const std::uint32_t a = constant(p, kMax), b = constant(p, v);
        add(p, {op, a, b, 0, 0});
        const Dim d = Dim::node(static_cast<std::uint32_t>(p.pool.nodes().size() - 1));
        p.functions[1].nodes.back().set(AttrKey::sizes, Dims{d});
        p.functions[1].values[static_cast<std::size_t>(p.functions[1].nodes.back().outputs[0])].type.shape = {d};
      });
      open_error(bytes);  // any result except a crash
      validate_archive(bytes);
    }
  }
}

TEST(ArchiveAttack, SymbolsWithoutAValue) {
  expect_rule("symbols.bound", [](Program& p) {
    const Dim free = p.pool.new_symbol("free", 0, 10);
    Node n;
    n.op = Op::full;
    n.attrs = {attr(AttrKey::sizes, free), attr_dtype(DType::f32), attr_number(AttrKey::value, 0)};
    n.outputs = {static_cast<ValueId>(forward(p).values.size())};
    forward(p).values.push_back({{DType::f32, {free}}, "x"});
    forward(p).nodes.push_back(n);
  });
  expect_rule("symbols.bound", [](Program& p) {  // inside a body
    const Dim free = p.pool.new_symbol("free", 0, 10);
    Node n;
    n.op = Op::from_dim;
    n.attrs = {attr(AttrKey::dim, free), attr_dtype(DType::i64)};
    n.outputs = {static_cast<ValueId>(p.functions[2].values.size())};
    p.functions[2].values.push_back({{DType::i64, {}}, "x"});
    p.functions[2].nodes.push_back(n);
  });
  // Used before the node that binds the symbol.
  expect_rule("symbols.bound", [](Program& p) {
    Node n;
    n.op = Op::from_dim;
    n.attrs = {attr(AttrKey::dim, p.pool.symbol("u1")), attr_dtype(DType::i64)};
    n.outputs = {static_cast<ValueId>(forward(p).values.size())};
    forward(p).values.push_back({{DType::i64, {}}, "x"});
    forward(p).nodes.insert(forward(p).nodes.begin(), n);
  });
}

TEST(ArchiveAttack, SymbolsWithTwoValues) {
  const auto again = [](Program& p, Dim symbol) {
    Node n = node(p, Op::nonzero);
    n.set(AttrKey::symbols, Dims{symbol});
    n.outputs = {static_cast<ValueId>(forward(p).values.size())};
    TensorType type = forward(p).values[static_cast<std::size_t>(node(p, Op::nonzero).outputs[0])].type;
    type.shape[0] = symbol;
    forward(p).values.push_back({type, "again"});
    forward(p).nodes.push_back(n);
  };
  const auto bound = [](Program& p) { return node(p, Op::nonzero).dims(AttrKey::symbols)[0]; };
  expect_rule("symbols.once", [&](Program& p) { again(p, bound(p)); });
  expect_rule("symbols.once", [&](Program& p) { again(p, p.pool.symbol("s0")); });
  expect_rule("symbols.once", [&](Program& p) {
    node(p, Op::nonzero).set(AttrKey::symbols, Dims{bound(p), bound(p)});
  });
  expect_rule("symbols.once", [&](Program& p) {  // a body binds its caller's symbol
    const Dim w = p.pool.new_symbol("w", 0, kNoBound);
    const ValueId v = Builder(p, 0).add_value({DType::f32, {w}}, "more");
    forward(p).inputs.push_back({FunctionInput::Kind::user, v, 0, "more", {}});
    Builder b(p, 2);
    b.add(Op::nonzero, {b.function().inputs[0].value}, {attr(AttrKey::symbols, w)});
  });
  EXPECT_EQ(open_error(changed([&](Program& p) { again(p, p.pool.new_symbol("another", 0, kNoBound)); })), "");
}

TEST(ArchiveAttack, SymbolsOfNodesThatFindNothing) {
  expect_rule("symbols.node",
              [](Program& p) { node(p, Op::permute).set(AttrKey::symbols, Dims{p.pool.new_symbol("free", 0, 10)}); });
  expect_rule("symbols.node", [](Program& p) { node(p, Op::nonzero).set(AttrKey::symbols, Dims{5}); });
  expect_rule("symbols.node", [](Program& p) {
    const Dim u = node(p, Op::nonzero).dims(AttrKey::symbols)[0];
    node(p, Op::nonzero).set(AttrKey::symbols, Dims{p.pool.add(u, 1)});
  });
}

// A data-dependent size must be declared as exactly its bound symbol.
TEST(ArchiveAttack, FoundSizesDeclaredOtherwise) {
  const auto declare = [](const std::function<Dim(Program&, Dim)>& size) {
    return [=](Program& p) {
      Dim& d = forward(p).values[static_cast<std::size_t>(node(p, Op::nonzero).outputs[0])].type.shape[0];
      d = size(p, d);
    };
  };
  expect_rule("types.result", declare([](Program& p, Dim u) { return p.pool.mul(u, 2); }));
  expect_rule("types.result", declare([](Program& p, Dim) { return p.pool.symbol("s0"); }));
  expect_rule("types.result", declare([](Program&, Dim) { return Dim(64); }));
}

TEST(ArchiveAttack, AbsentResults) {
  const auto absent = [](Op op) {
    return [=](Program& p) { node(p, op).outputs.assign(node(p, op).outputs.size(), kNoValue); };
  };
  for (Op op : {Op::permute, Op::matmul, Op::reduce, Op::pointwise, Op::reshape, Op::nonzero, Op::dequantize})
    expect_rule("nodes.absent", absent(op));
  const auto add = [](Program& p, Op op, std::vector<Attr> attrs, std::vector<bool> wanted) {
    Builder b(p, 0);
    const std::vector<ValueId> values = b.add_all(op, {node(p, Op::matmul).outputs[0]}, std::move(attrs));
    Node& n = forward(p).nodes.back();
    for (std::size_t k = 0; k < values.size(); ++k) n.outputs[k] = wanted[k] ? values[k] : kNoValue;
  };
  const std::vector<Attr> axis = {attr(AttrKey::axis, Dim(0))};
  EXPECT_EQ(open_error(changed([&](Program& p) { add(p, Op::sort, axis, {true, false}); })), "");
  EXPECT_EQ(open_error(changed([&](Program& p) { add(p, Op::sort, axis, {false, true}); })), "");
  expect_rule("nodes.absent", [&](Program& p) { add(p, Op::sort, axis, {false, false}); });
  const auto unique = [](Program& p) {
    return std::vector<Attr>{attr(AttrKey::symbols, p.pool.new_symbol("groups", 0, kNoBound))};
  };
  expect_rule("nodes.absent", [&](Program& p) { add(p, Op::unique, unique(p), {false, true, true}); });
  EXPECT_EQ(open_error(changed([&](Program& p) { add(p, Op::unique, unique(p), {true, false, false}); })), "");
}

TEST(ArchiveAttack, RangesOfSymbols) {
  expect_rule("symbols.range", [](Program& p) { p.pool.assign(p.pool.nodes(), {{"s0", 5, 4}, {"u1", 0, kNoBound}}); });
}

}  // namespace
}  // namespace tern::test
