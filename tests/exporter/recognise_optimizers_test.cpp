// Optimizer steps written operator by operator become the op; lookalikes stay. The cases of
// tests/data/optimizers.tar.zst are PyTorch's own.
#include <gtest/gtest.h>

#include <algorithm>

#include "exporter/optimizers/fit.h"
#include "exporter/optimizers/list_step.h"
#include "exporter/passes/passes.h"
#include "schema/optim.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

/// Parameters, gradients and states, each with a write-back.
class Training : public testing::TestProgram {
 public:
  void write_back(std::size_t input, ValueId v) {
    program().functions[0].writebacks.push_back({WriteBack::Target::input, static_cast<std::uint32_t>(input), v});
  }
  std::vector<const Node*> steps() {
    std::vector<const Node*> found;
    for (const Node& n : program().functions[0].nodes) {
      if (n.op == Op::optim) found.push_back(&n);
    }
    return found;
  }
};

/// Formulas of AdamW, arranged unlike PyTorch's. `t` counts from 1; `lr` is an input.
struct Rule {
  const char* moment = "0.9 * m + 0.1 * g";
  const char* size = "0.003 / (1 - pow(0.9, t))";
  const char* root = "sqrt(v / (1 - pow(0.99, t))) + 1e-6";
  const char* param = "w - 0.003 * 0.05 * w - s * m / r";
};

void adamw(Training& p, const Dims& shape, const Rule& rule = {}, bool reads_rate = false) {
  const std::size_t first = p.program().functions[0].inputs.size();
  Builder& b = p.b();
  const ValueId w = p.input(DType::f32, shape), g = p.input(DType::f32, shape), m = p.input(DType::f32, shape),
                v = p.input(DType::f32, shape), t = p.input(DType::f32, {});
  const ValueId lr = reads_rate ? p.input(DType::f32, {}) : kNoValue;
  const ValueId step = b.expr("t + 1", {{"t", t}}, DType::f32);
  const ValueId m1 = b.expr(rule.moment, {{"m", m}, {"g", g}}, DType::f32);
  const ValueId v1 = b.expr("0.99 * v + 0.01 * g * g", {{"v", v}, {"g", g}}, DType::f32);
  const auto with_rate = [&](const char* text, std::vector<ExprArg> names) {
    if (reads_rate) names.push_back({"lr", lr});
    return b.expr(text, names, DType::f32);
  };
  const ValueId size = with_rate(rule.size, {{"t", step}});
  const ValueId root = b.expr(rule.root, {{"v", v1}, {"t", step}}, DType::f32);
  const ValueId w1 = with_rate(rule.param, {{"w", w}, {"g", g}, {"s", size}, {"m", m1}, {"r", root}});
  p.write_back(first, w1);
  p.write_back(first + 2, m1);
  p.write_back(first + 3, v1);
  p.write_back(first + 4, step);
  p.output(b.reduce(w1, "sum", b.all_axes(w1), false, DType::f32));
}

/// True if AdamW with these formulas becomes the op.
bool is_recognised(const Rule& rule, bool reads_rate = false) {
  Training p;
  adamw(p, {Dim(4)}, rule, reads_rate);
  const bool found = recognise_optimizers(p.program()) == 1;
  EXPECT_EQ(p.steps().size(), found ? 1U : 0U);
  return found;
}

TEST(RecogniseOptimizers, AdamWOfManyParametersIsOneNode) {
  Training p;
  for (std::int64_t i = 1; i < 40; ++i) adamw(p, {Dim(i), Dim(3)});
  EXPECT_EQ(recognise_optimizers(p.program()), 39u);
  const auto steps = p.steps();
  ASSERT_EQ(steps.size(), 1u);
  const OptimLayout layout(*steps[0]);
  EXPECT_EQ(layout.kind, OptimKind::adamw);
  EXPECT_EQ(layout.params(), 39u);
  EXPECT_EQ(steps[0]->numbers(AttrKey::hyper), (std::vector<double>{0.003, 0.9, 0.99, 0.05, 1e-6}));
  EXPECT_EQ(std::ranges::count(p.program().functions[0].nodes, Op::pointwise, &Node::op), 0);
}

TEST(RecogniseOptimizers, GivesTheSameNumbers) {
  std::vector<std::vector<float>> results;
  for (const bool recognised : {false, true}) {
    Training p;
    adamw(p, {Dim(5)});
    if (recognised) {
      ASSERT_EQ(recognise_optimizers(p.program()), 1u);
    }
    Session s(p.model().prepare());
    std::vector<Tensor> inputs;
    for (float x : {1.0F, 0.5F, 0.0F, 0.0F}) inputs.push_back(testing::floats({5}, {x, -x, 2 * x, x / 3, 0}));
    inputs.push_back(testing::floats({}, {0}));
    for (int i = 0; i < 4; ++i) s.run(inputs);
    EXPECT_EQ(inputs[4].span<float>()[0], 4);
    results.push_back(testing::values_of(inputs[0]));
  }
  for (std::size_t i = 0; i < results[0].size(); ++i) EXPECT_NEAR(results[0][i], results[1][i], 1e-6);
}

TEST(RecogniseOptimizers, AnotherRuleStays) {
  EXPECT_TRUE(is_recognised({}));
  EXPECT_FALSE(is_recognised({.root = "v / (1 - pow(0.99, t)) + 1e-6"}));
}

TEST(RecogniseOptimizers, ChoicesByConstantsAreNone) {
  const char* lerp = "abs(0.1) < 0.5 ? m + 0.1 * (g - m) : g - (g - m) * (1 - 0.1)";  // aten.lerp after lowering
  EXPECT_TRUE(is_recognised({.moment = lerp}));
  EXPECT_FALSE(is_recognised({.moment = "abs(m) < 1e5 ? m + 0.1 * (g - m) : g - (g - m) * (1 - 0.1)"}));
}

TEST(RecogniseOptimizers, AdamaxHasOneMaximum) {
  for (const bool limited : {false, true}) {
    Training p;
    Builder& b = p.b();
    const Dims shape{Dim(3)};
    const ValueId w = p.input(DType::f32, shape), g = p.input(DType::f32, shape), m = p.input(DType::f32, shape),
                  v = p.input(DType::f32, shape), t = p.input(DType::f32, {});
    const ValueId step = b.expr("t + 1", {{"t", t}}, DType::f32);
    const ValueId m1 = b.expr("m + 0.1 * (g - m)", {{"m", m}, {"g", g}}, DType::f32);
    const ValueId v1 = b.expr("max(0.99 * v, abs(g) + 1e-8)", {{"v", v}, {"g", g}}, DType::f32);
    const char* text = "w - 0.002 / (1 - pow(0.9, t)) * m / v";
    const char* at_least = "max(w - 0.002 / (1 - pow(0.9, t)) * m / v, -1e7)";
    const ValueId w1 = b.expr(limited ? at_least : text, {{"w", w}, {"t", step}, {"m", m1}, {"v", v1}}, DType::f32);
    for (const auto& [input, value] : {std::pair{0, w1}, std::pair{2, m1}, std::pair{3, v1}, std::pair{4, step}})
      p.write_back(static_cast<std::size_t>(input), value);
    p.output(step);
    EXPECT_EQ(recognise_optimizers(p.program()), limited ? 0U : 1U);
    if (!limited) {
      EXPECT_EQ(OptimLayout(*p.steps().at(0)).kind, OptimKind::adamax);
    }
  }
}

/// True if Lion with this direction becomes the op.
bool lion_is_recognised(const char* direction) {
  Training p;
  Builder& b = p.b();
  const Dims shape{Dim(3)};
  const ValueId w = p.input(DType::f32, shape), g = p.input(DType::f32, shape), m = p.input(DType::f32, shape);
  const ValueId w1 =
      b.expr(std::string("w * (1 - 1e-3 * 0.1) - 1e-3 * ") + direction, {{"w", w}, {"g", g}, {"m", m}}, DType::f32);
  const ValueId m1 = b.expr("0.99 * m + 0.01 * g", {{"m", m}, {"g", g}}, DType::f32);
  p.write_back(0, w1);
  p.write_back(2, m1);
  p.output(w1);
  if (recognise_optimizers(p.program()) == 0) return false;
  EXPECT_EQ(OptimLayout(*p.steps().at(0)).kind, OptimKind::lion);
  EXPECT_EQ(p.steps()[0]->numbers(AttrKey::hyper), (std::vector<double>{1e-3, 0.9, 0.99, 0.1, 0}));
  return true;
}

TEST(RecogniseOptimizers, LionTurnsWhereItsSumDoes) {
  EXPECT_TRUE(lion_is_recognised("sign(0.9 * m + 0.1 * g)"));
  EXPECT_FALSE(lion_is_recognised("sign(0.9 * m + 0.1 * g * g)"));
  EXPECT_FALSE(lion_is_recognised("sign(0.9 * m + 0.1 * min(g, 1e5))"));
}

/// True if Rprop with this factor of the step size becomes the op; s is the sign of the product of two gradients.
bool rprop_is_recognised(const char* factor) {
  Training p;
  Builder& b = p.b();
  const Dims shape{Dim(3)};
  const ValueId w = p.input(DType::f32, shape), g = p.input(DType::f32, shape), m = p.input(DType::f32, shape),
                v = p.input(DType::f32, shape);
  const ValueId s = b.expr("sign(g * m)", {{"g", g}, {"m", m}}, DType::f32);
  const ValueId k = b.expr(factor, {{"s", s}, {"g", g}}, DType::f32);
  const ValueId v1 = b.expr("min(max(v * k, 1e-6), 50)", {{"v", v}, {"k", k}}, DType::f32);
  const ValueId m1 = b.expr("k == 0.5 ? 0 : g", {{"k", k}, {"g", g}}, DType::f32);
  const ValueId w1 = b.expr("w - sign(m) * v", {{"w", w}, {"m", m1}, {"v", v1}}, DType::f32);
  for (const auto& [input, value] : {std::pair{0, w1}, std::pair{2, m1}, std::pair{3, v1}})
    p.write_back(static_cast<std::size_t>(input), value);
  p.output(w1);
  if (recognise_optimizers(p.program()) == 0) return false;
  EXPECT_EQ(OptimLayout(*p.steps().at(0)).kind, OptimKind::rprop);
  EXPECT_EQ(p.steps()[0]->numbers(AttrKey::hyper), (std::vector<double>{0, 0.5, 1.2, 0, 1e-6, 50}));
  return true;
}

TEST(RecogniseOptimizers, RpropComparesWithItsOptionsAlone) {
  EXPECT_TRUE(rprop_is_recognised("s > 0 ? 1.2 : (s < 0 ? 0.5 : 1)"));
  EXPECT_FALSE(rprop_is_recognised("s > 0 ? 1.2 : (s < 0 ? 0.4 : 1)"));
  // A condition outside all samples, in place of a condition of Rprop.
  EXPECT_FALSE(rprop_is_recognised("g > 1e5 ? 7 : (s > 0 ? 1.2 : (s < 0 ? 0.5 : 1))"));
}

TEST(RecogniseOptimizers, ARateThatIsReadScalesTheDecay) {
  const char* size = "lr / (1 - pow(0.9, t))";
  EXPECT_TRUE(is_recognised({.size = size, .param = "w - lr * 0.05 * w - s * m / r"}, true));
  EXPECT_FALSE(is_recognised({.size = size, .param = "w * (1 - 1e-4) - s * m / r"}, true));
  EXPECT_FALSE(is_recognised({.size = size, .param = "w - lr * lr * 0.05 * w - s * m / r"}, true));
}

TEST(RecogniseOptimizers, WhatActsOnUnusualNumbersAloneStays) {
  const char* const kParams[] = {
      "max(min(w - 0.003 * 0.05 * w - s * m / r, 1e5), -1e5)",
      "isnan(g) || isinf(g) ? w : w - 0.003 * 0.05 * w - s * m / r",
      "w - 0.003 * 0.05 * w - (abs(s * m / r) < 1e5 ? s * m / r : 0)",
      // Smooth, and equal to w unless w is large.
      "w / sqrt(1 + w * w * 1e-16) - 0.003 * 0.05 * w - s * m / r",
  };
  for (const char* param : kParams) EXPECT_FALSE(is_recognised({.param = param})) << param;
  // Late steps change the rate: abruptly, or by a smooth function that is 1 until then.
  EXPECT_FALSE(is_recognised({.size = "(t > 2000 ? 0.0003 : 0.003) / (1 - pow(0.9, t))"}));
  EXPECT_FALSE(is_recognised({.size = "0.003 / (1 + exp((t - 5000) / 20)) / (1 - pow(0.9, t))"}));
}

TEST(RecogniseOptimizers, AnAverageIsNoDescent) {
  Training p;
  const ValueId average = p.input(DType::f32, {Dim(4)}), x = p.input(DType::f32, {Dim(4)});
  const ValueId next = p.b().expr("0.9 * a + 0.1 * x", {{"a", average}, {"x", x}}, DType::f32);
  p.write_back(0, next);
  p.output(next);
  EXPECT_EQ(recognise_optimizers(p.program()), 0u);
}

TEST(RecogniseOptimizers, StepsThatFoundInfLeavesOutAreCountedByTheProgram) {
  // Like torch.optim's fused functions: adds 1 to the count before the step, and subtracts 1 after a skipped step.
  for (const bool scaled : {false, true}) {
    Training p;
    Builder& b = p.b();
    const Dims shape{Dim(2)};
    const ValueId w = p.input(DType::f32, shape), g = p.input(DType::f32, shape), m = p.input(DType::f32, shape),
                  v = p.input(DType::f32, shape), t = p.input(DType::f32, {}), inf = p.input(DType::f32, {});
    const ValueId next = b.expr("t + 1", {{"t", t}}, DType::f32);
    optimizers::ListStep step{.kind = OptimKind::adam, .hyper = {0.1, 0.9, 0.99, 0, 1e-8}, .lists = {}};
    step.lists = {{{w}, {g}, {m}, {v}, {}, {next}, {}, {}, {}, {}, {}}};
    if (scaled) step[OptimList::found_inf] = {inf};
    p.write_back(0, add_list_step(b, step)[0].at(0));
    const ValueId left = scaled ? b.expr("t - i", {{"t", next}, {"i", inf}}, DType::f32) : next;
    p.write_back(4, left);
    p.output(left);
    recognise_optimizers(p.program());
    EXPECT_EQ((p.steps().at(0)->integer(AttrKey::mode) & kOptimAdvance) != 0, !scaled);
    Session s(p.model().prepare());
    for (const float found : {0.0F, 1.0F}) {
      std::vector<Tensor> inputs;
      for (int i = 0; i < 4; ++i) inputs.push_back(testing::floats({2}, {1, 1}));
      inputs.push_back(testing::floats({}, {7}));
      inputs.push_back(testing::floats({}, {found}));
      s.run(inputs);
      EXPECT_EQ(inputs[4].span<float>()[0], scaled ? 8 - found : 8);
    }
  }
}

TEST(RecogniseOptimizers, RoundNumbers) {
  EXPECT_EQ(optimizers::roundest(0.1 + 0.2), 0.3);
  EXPECT_EQ(optimizers::roundest((1 - (1 - 1e-3 * 1e-2)) / 1e-3), 1e-2);
  EXPECT_EQ(optimizers::roundest(1.0 / 3), 1.0 / 3);
  EXPECT_EQ(optimizers::roundest(0), 0);
}

}  // namespace
}  // namespace tern
