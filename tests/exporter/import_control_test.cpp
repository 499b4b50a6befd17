// Subgraphs: branches, calls, inlined regions, vmap.
#include <gtest/gtest.h>
#include <tern/error.h>

#include "tests/exporter/traced_model.h"

namespace tern::testing {
namespace {

const Json kType = meta({3});

TracedGraph unary(const std::string& target, const Json& result_type = kType, const Arguments& more = {}) {
  TracedGraph g;
  g.input("a", kType);
  Arguments arguments = {{"self", tensor("a")}};
  arguments.insert(arguments.end(), more.begin(), more.end());
  g.node(target, arguments, {{"r", result_type}});
  g.output(tensor("r"));
  return g;
}

const Node* node_of(const Program& p, Op op) {
  for (const Node& n : p.functions[0].nodes) {
    if (n.op == op) return &n;
  }
  return nullptr;
}

TEST(ImportControl, BranchesBecomeFunctions) {
  TracedModel m;
  m.user("p", meta({}, kBool));
  m.user("x", kType);
  m.node("torch.ops.higher_order.cond",
         {{"", tensor("p")},
          {"", unary("torch.ops.aten.sin.default").argument("t")},
          {"", unary("torch.ops.aten.cos.default").argument("f")},
          {"", tensors({"x"})}},
         {{"y", kType}});
  m.result("y");
  const Program p = m.load();
  const Node* n = node_of(p, Op::cond);
  ASSERT_NE(n, nullptr);
  ASSERT_EQ(n->functions.size(), 2u);
  EXPECT_FALSE(p.functions[n->functions[0]].entry);
  EXPECT_TRUE(n->dims(AttrKey::symbols).empty());
}

TEST(ImportControl, SizesInWhichBranchesDifferGetASymbol) {
  TracedModel m;
  m.user("p", meta({}, kBool));
  m.user("x", kType);
  const Arguments two = {{"dim", integer(0)}, {"start", integer(0)}, {"end", integer(2)}};
  m.node("torch.ops.higher_order.cond",
         {{"", tensor("p")},
          {"", unary("torch.ops.aten.slice.Tensor", meta({2}), two).argument("t")},
          {"", unary("torch.ops.aten.cos.default").argument("f")},
          {"", tensors({"x"})}},
         {{"y", meta_of({size(symbol("u0"))})}});
  m.result("y");
  const Program p = m.load();
  const Node* n = node_of(p, Op::cond);
  ASSERT_NE(n, nullptr);
  ASSERT_EQ(n->dims(AttrKey::symbols).size(), 1u);
  const int s = p.pool.symbol_of(n->dims(AttrKey::symbols)[0]);
  ASSERT_GE(s, 0);
  EXPECT_EQ(p.pool.symbols()[static_cast<std::size_t>(s)].min, 2);
  EXPECT_EQ(p.pool.symbols()[static_cast<std::size_t>(s)].max, 3);
}

TEST(ImportControl, BranchesThatGiveOtherDtypesAreRefused) {
  TracedModel m;
  m.user("p", meta({}, kBool));
  m.user("x", kType);
  m.node("torch.ops.higher_order.cond",
         {{"", tensor("p")},
          {"", unary("torch.ops.aten.gt.Scalar", meta({3}, kBool), {{"other", integer(0)}}).argument("t")},
          {"", unary("torch.ops.aten.cos.default").argument("f")},
          {"", tensors({"x"})}},
         {{"y", kType}});
  m.result("y");
  EXPECT_NE(error_of([&] { m.load(); }).find("result 0 is bool[3] in one branch and float32[3] in the other"),
            std::string::npos);
}

TEST(ImportControl, WhatABranchWritesIsWrittenAfterIt) {
  TracedModel m;
  m.floats({1, 2, 3});
  m.buffer("state", kType);
  m.user("p", meta({}, kBool));
  TracedGraph t = unary("torch.ops.aten.add_.Tensor", kType, {{"other", integer(1)}}),
              f = unary("torch.ops.aten.cos.default");
  m.node("torch.ops.higher_order.cond",
         {{"", tensor("p")}, {"", t.argument("t")}, {"", f.argument("f")}, {"", tensors({"b_state"})}}, {{"y", kType}});
  m.result("y");
  const Program p = m.load();
  const Node* n = node_of(p, Op::cond);
  ASSERT_NE(n, nullptr);
  EXPECT_EQ(n->outputs.size(), 2u);
  ASSERT_EQ(p.functions[0].writebacks.size(), 1u);
  EXPECT_EQ(p.functions[0].writebacks[0].value, n->outputs[1]);
  // The branch without a write returns its operand.
  const Function& untouched = p.functions[n->functions[1]];
  EXPECT_EQ(untouched.outputs[1].value, untouched.inputs[0].value);
}

TEST(ImportControl, EqualCallsShareAFunction) {
  TracedModel m;
  m.user("x", kType);
  const Json body = unary("torch.ops.aten.sin.default").argument("g");
  m.node("torch.ops.higher_order.invoke_subgraph", {{"", body}, {"", {{"as_string", "subgraph_0"}}}, {"", tensor("x")}},
         {{"y", kType}});
  m.node("torch.ops.higher_order.invoke_subgraph", {{"", body}, {"", {{"as_string", "subgraph_0"}}}, {"", tensor("y")}},
         {{"z", kType}});
  m.result("z");
  const Program p = m.load();
  EXPECT_EQ(p.functions.size(), 2u);
  EXPECT_EQ(p.functions[0].nodes.size(), 2u);
}

TEST(ImportControl, RegionsWithoutGradientAreInlined) {
  TracedModel m;
  m.user("x", kType);
  const Json body = unary("torch.ops.aten.add_.Tensor", kType, {{"other", integer(1)}}).argument("g");
  m.node("torch.ops.higher_order.wrap_with_set_grad_enabled", {{"", boolean(false)}, {"", body}, {"", tensor("x")}},
         {{"y", kType}});
  m.result("y");
  const Program p = m.load();
  EXPECT_EQ(p.functions.size(), 1u);
  ASSERT_EQ(p.functions[0].writebacks.size(), 1u) << "the body writes the input itself";
}

TEST(ImportControl, VmapBecomesAMap) {
  const std::string prefix = "torch._functorch.predispatch.";
  TracedModel m;
  m.user("x", meta({3, 4}));
  m.user("w", meta({3}));
  m.node(prefix + "_vmap_increment_nesting", {{"", integer(4)}, {"", {{"as_string", "error"}}}}, {});
  m.node(prefix + "_add_batch_dim", {{"", tensor("x")}, {"", integer(1)}, {"", integer(1)}}, {{"one", meta({3})}});
  m.node("torch.ops.aten.mul.Tensor", {{"self", tensor("one")}, {"other", tensor("w")}}, {{"mul", meta({3})}});
  m.node(prefix + "_remove_batch_dim", {{"", tensor("mul")}, {"", integer(1)}, {"", integer(4)}, {"", integer(1)}},
         {{"y", meta({3, 4})}});
  m.node(prefix + "_vmap_decrement_nesting", {}, {});
  m.result("y");
  const Program p = m.load();
  const Node* n = node_of(p, Op::map_loop);
  ASSERT_NE(n, nullptr);
  EXPECT_EQ(n->inputs.size(), 2u);
  EXPECT_EQ(n->integer(AttrKey::mapped), 1);
  const Function& f = p.functions[0];
  EXPECT_EQ(f.values[static_cast<std::size_t>(f.outputs[0].value)].type.shape, (Dims{3, 4}));
}

TEST(ImportControl, LoopsWhoseBodiesWriteOperandsAreRefusedByName) {
  TracedModel m;
  m.user("xs", meta({3, 3}));
  m.list_node("torch.ops.higher_order.map_impl",
              {{"", unary("torch.ops.aten.add_.Tensor", kType, {{"other", integer(1)}}).argument("f")},
               {"", tensors({"xs"})},
               {"", tensors({})}},
              {{"y", meta({3, 3})}});
  m.result("y");
  try {
    m.load();
    FAIL() << "the body writes a part of xs";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unsupported);
    EXPECT_NE(std::string(e.what()).find("map writes its operand 0 ('a') in place"), std::string::npos) << e.what();
  }
}

/// The caller's nodes need the facts found in the region: no call remains.
TEST(ImportControl, RegionsThatFindOutSizesAreInlined) {
  TracedGraph g;
  g.input("a", kType);
  g.node("torch.ops.aten.nonzero.default", {{"self", tensor("a")}},
         {{"r", meta_of({size(symbol("u0")), size(1)}, kI64)}});
  g.output(tensor("r"));
  TracedModel m;
  m.user("x", kType);
  for (const char* y : {"y", "z"}) {
    m.list_node("torch.ops.higher_order.invoke_subgraph",
                {{"", g.argument("f")}, {"", {{"as_string", "f"}}}, {"", tensor("x")}},
                {{y, meta_of({size(symbol(y[0] == 'y' ? "u1" : "u2")), size(1)}, kI64)}});
    m.result(y);
  }
  const Program p = m.load();
  EXPECT_EQ(p.functions.size(), 1u);
  EXPECT_EQ(node_of(p, Op::call), nullptr);
  const Function& f = p.functions[0];
  const auto size_of = [&](std::size_t i) { return f.values[static_cast<std::size_t>(f.outputs[i].value)].type.shape; };
  EXPECT_NE(size_of(0), size_of(1));
}

}  // namespace
}  // namespace tern::testing
