// Every op has a gradient rule, or a reason to have none.
#include "exporter/gradients/registry.h"

#include <gtest/gtest.h>
#include <tern/error.h>

#include "exporter/gradients/differentiate.h"
#include "exporter/rewrite.h"
#include "schema/op_record.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using testing::TestProgram;

TEST(GradientRegistry, EveryOpIsInOneList) {
  for (int number = 1; number <= kMaxOp; ++number) {
    const Op op = static_cast<Op>(number);
    if (op_record(op).op == Op::invalid) continue;
    const bool rule = find_gradient_rule(op) != nullptr;
    int reasons = 0;
    for (const NoGradient& n : ops_without_gradient()) reasons += n.op == op;
    EXPECT_EQ(rule + reasons, 1) << op_name(op) << ": " << gradient_text(op);
  }
}

std::string refusal(TestProgram& p, ValueId y, ValueId x) {
  try {
    differentiate(p.b(), std::vector<GradientSeed>{{y, y}}, std::vector<ValueId>{x});
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unsupported);
    return e.what();
  }
  return "none";
}

TEST(GradientRegistry, ARefusalNamesAllNodesAndTheirLines) {
  TestProgram p;
  p.program().origins = {{"aten.histc.default", "head", "model.py:7"}, {"aten.histc.default", "tail", "model.py:9"}};
  const ValueId x = p.input(DType::f32, {8});
  ValueId y = x;
  for (std::int32_t origin : {0, 1}) {
    p.b().set_origin(origin);
    y = p.b().add(Op::histogram, {y}, {attr(AttrKey::bins, 8)});
  }
  const std::string message = refusal(p, y, x);
  for (const char* part : {"histogram", "aten.histc.default", "head", "model.py:7", "tail", "model.py:9"}) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
}

TEST(GradientRegistry, AFormulaOfPyTorchThatIsMissing) {
  TestProgram p;
  p.program().origins = {{"aten._fake_quantize_learnable_per_tensor_affine.default", "head", "model.py:7"}};
  const ValueId x = p.input(DType::f32, {8});
  p.b().set_origin(0);
  const std::string message = refusal(p, p.b().expr("round(x / 2) * 2", {{"x", x}}, DType::f32), x);
  EXPECT_NE(message.find("its own formula"), std::string::npos) << message;
}

/// Sizes in a file must not decide the number of nodes.
TEST(GradientRegistry, ReflectionsWithoutEnd) {
  TestProgram p;
  const std::int64_t many = 30000;
  const ValueId x = p.input(DType::f32, {many, many}), tau = p.input(DType::f32, {many});
  const std::string message = refusal(p, p.b().add(Op::householder, {x, tau}, {attr(AttrKey::kind, 0)}), x);
  EXPECT_NE(message.find("30000 reflections"), std::string::npos) << message;
}

TEST(GradientRegistry, WhatIsNotOnThePathMayHaveNone) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {8});
  const ValueId counts = p.b().add(Op::histogram, {x}, {attr(AttrKey::bins, 8)});
  p.output(counts);
  const ValueId y = p.b().expr("x * x", {{"x", x}}, DType::f32);
  EXPECT_EQ(refusal(p, y, x), "none");
}

/// A rule for an operator's derivative does not apply to the derivative of the gradient.
TEST(GradientRegistry, NodesOfGradientsHaveOriginsOfTheirOwn) {
  TestProgram p;
  p.program().origins = {{"aten.relu.default", "head", "model.py:7"}};
  const ValueId x = p.input(DType::f32, {8});
  p.b().set_origin(0, {{"stage", std::int64_t{3}}, {"gradient.padding_idx", std::int64_t{1}}});
  const ValueId y = p.b().expr("max(x, 0) * max(x, 0)", {{"x", x}}, DType::f32);
  const std::size_t forward = p.b().function().nodes.size();
  EXPECT_EQ(refusal(p, y, x), "none");
  const std::vector<Node>& nodes = p.b().function().nodes;
  ASSERT_GT(nodes.size(), forward);
  const Origin& origin = p.program().origins.at(static_cast<std::size_t>(nodes.back().origin));
  EXPECT_EQ(origin, (Origin{"gradient of aten.relu.default", "head", "model.py:7"}));
  ASSERT_EQ(nodes.back().annotations.size(), 1);
  EXPECT_EQ(nodes.back().annotations[0].key, "stage");
  EXPECT_EQ(p.program().origins[0].op, "aten.relu.default");
}

TEST(GradientRegistry, NothingFlowsThroughPositions) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {8});
  const ValueId position = p.b().reduce(x, "argmax", {0}, true, DType::i64);
  const ValueId y = p.b().cast(position, DType::f32);
  const ValueId one = p.b().full({1}, 1, DType::f32);
  const auto g = differentiate(p.b(), std::vector<GradientSeed>{{y, one}}, std::vector<ValueId>{x});
  EXPECT_EQ(g[0], kNoValue);
}

TEST(GradientRegistry, AStateThatABodyReadsByItself) {
  TestProgram p;
  const ValueId w = p.state({2}, {1, 2}, true), x = p.input(DType::f32, {2});
  const std::uint32_t body = p.add_body();
  Builder inner(p.program(), body);
  const ValueId inside = value_of_state(p.program(), inner.function(), 0);
  p.output(inner.expr("w * w", {{"w", inside}}, DType::f32), body);
  Node call;
  call.op = Op::call;
  call.functions = {body};
  const ValueId squares = p.b().add(std::move(call)).front();
  const ValueId y = p.b().expr("w * x + s", {{"w", w}, {"x", x}, {"s", squares}}, DType::f32);
  const std::string message = refusal(p, y, w);
  EXPECT_NE(message.find("state 'state0'"), std::string::npos) << message;
}

TEST(GradientRegistry, OnlyNumbersWithFractionsHaveGradients) {
  TestProgram p;
  const ValueId x = p.input(DType::i64, {8});
  EXPECT_THROW(differentiate(p.b(), {}, std::vector<ValueId>{x}), Error);
}

}  // namespace
}  // namespace tern
