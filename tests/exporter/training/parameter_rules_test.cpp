// Rules of --params: selectors, settings, later rules over earlier ones, and rates that a session changes.
#include "exporter/training/parameter_rules.h"

#include <gtest/gtest.h>
#include <tern/error.h>

#include "exporter/training/add_training.h"
#include "exporter/training/methods.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using optimizers::Optimizer;

std::vector<ParameterRule> rules_of(const std::vector<std::string>& texts) {
  std::vector<ParameterRule> rules;
  for (const std::string& text : texts) rules.push_back(parse_parameter_rule(text));
  return rules;
}

TEST(ParameterRules, SelectParametersByNameModuleAndAxes) {
  const ParameterRule rule = parse_parameter_rule("norm*|*.bias|lm_head|ndim<2: weight-decay=0");
  EXPECT_TRUE(selects(rule, "norm1.weight", 3));
  EXPECT_TRUE(selects(rule, "fc.bias", 3));
  EXPECT_TRUE(selects(rule, "lm_head.weight", 3));
  EXPECT_TRUE(selects(rule, "fc.weight", 1));
  EXPECT_FALSE(selects(rule, "fc.weight", 2));
  EXPECT_FALSE(selects(rule, "lm_head2.weight", 2));
  for (const auto& [text, rank] :
       {std::pair("ndim<=2", 2), {"ndim=2", 2}, {"ndim!=2", 1}, {"ndim>2", 3}, {"ndim>=2", 2}})
    EXPECT_TRUE(selects(parse_parameter_rule(std::string(text) + ": frozen"), "x", rank)) << text;
}

TEST(ParameterRules, OverrideEarlierOnesSettingBySetting) {
  const auto rules = rules_of({"*: weight-decay=0.5, lr=0.1x", "b: optimizer=sgd, momentum=0.9", "*: lr=3e-3"});
  optimizers::OptimizerOptions options = optimizers::options_for(Optimizer::adamw);
  options.lr = 1e-2;
  const auto all = apply_rules(rules, options, {{{"a"}, 1}, {{"b"}, 1}});
  EXPECT_EQ(all[0].options.optimizer, Optimizer::adamw);
  EXPECT_EQ(all[0].options.weight_decay, 0.5);
  EXPECT_EQ(all[1].options.optimizer, Optimizer::sgd);
  EXPECT_EQ(all[1].options.weight_decay, 0);  // sgd begins with its own defaults
  EXPECT_EQ(all[1].options.momentum, 0.9);
  for (const ParameterTraining& t : all) {
    EXPECT_EQ(t.rate_rule, 2);
    EXPECT_NEAR(t.options.lr, 3e-3, 1e-18);
  }
}

TEST(ParameterRules, RefuseWrongText) {
  for (const char* text :
       {"", "a", ":", "a:", ": lr=1", "a: lr", "a: lr=-1", "a: lr=nan", "a: lr=1y", "a||b: lr=1", "a: lr=1,,",
        "a: frozen=maybe", "a: optimizer=", "a: betas=1", "a: momentum=x", "ndim<: lr=1"})
    EXPECT_THROW(parse_parameter_rule(text), Error) << text;
}

/// y = x a b with two weights of one element; b has half of the rate.
TEST(ParameterRules, RatesChangeBetweenSteps) {
  testing::TestProgram p;
  p.program().functions[0].name = training::kTrainStep;
  ValueId x = p.input(DType::f32, {Dim(1)});
  for (const char* name : {"a", "b"}) {
    x = p.b().expr("x * w", {{"x", x}, {"w", p.state({1}, {2}, false)}}, DType::f32);
    p.program().states.back().kind = State::Kind::parameter;
    p.program().states.back().name = name;
  }
  p.output(x);
  Function forward = p.program().functions[0];
  forward.name = training::kForward;
  p.program().functions.push_back(std::move(forward));
  TrainingOptions options;
  options.loss = "mse";
  options.optimizer = optimizers::options_for(Optimizer::sgd);
  options.rules = rules_of({"b: lr=0.5x"});
  const TrainingReport report = add_training(p.program(), options);
  ASSERT_EQ(report.groups.size(), 2u);
  Session session(p.model().prepare());
  const auto weight = [&](const char* name) { return testing::values_of(session.read_state(name)).at(0); };
  // Loss (x a b - t)^2 with x = 1, t = 3: slopes 2 (a b - t) b and 2 (a b - t) a.
  session.step({testing::floats({1}, {1}), testing::floats({1}, {3})}, 0.25);
  EXPECT_EQ(weight("a"), 2 - 0.25F * 4);
  EXPECT_EQ(weight("b"), 2 - 0.125F * 4);
  const double stopped = 0;
  session.write_state("optimizer.lr_factor.b", Tensor::borrow(&stopped, DType::f64, {}));
  session.step({testing::floats({1}, {1}), testing::floats({1}, {3})}, 0.25);
  EXPECT_EQ(weight("a"), 1 - 0.25F * 2 * (1.5F - 3) * 1.5F);
  EXPECT_EQ(weight("b"), 1.5F);
}

}  // namespace
}  // namespace tern
