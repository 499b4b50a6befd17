// Parameter steps before the end of a function: after their gradients and the last reader of the old values,
// bit-identical to a step at the end.
#include "exporter/training/early_steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "exporter/rewrite.h"
#include "exporter/training/add_training.h"
#include "exporter/training/methods.h"
#include "schema/def_use.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using testing::TestProgram;

constexpr std::int64_t kWide = 768;  // a square of floats exceeds the megabytes of a joint step
constexpr const char* kNames[] = {"first", "tied", "last"};

/// x first tied tied^T last, trained: the second weight is read twice, the second time transposed.
class Chain {
 public:
  explicit Chain(std::optional<double> clip_norm = std::nullopt) {
    p_.program().functions[0].name = training::kTrainStep;
    Builder& b = p_.b();
    ValueId x = p_.input(DType::f32, {Dim(2), Dim(kWide)});
    std::vector<ValueId> weights;
    for (const char* name : kNames) weights.push_back(parameter(name));
    for (ValueId w : {weights[0], weights[1], b.transpose(weights[1], 0, 1), weights[2]})
      x = b.expr("tanh(h)", {{"h", b.matmul(x, w)}}, DType::f32);
    p_.output(x);
    Function forward = p_.program().functions[0];
    forward.name = training::kForward;
    p_.program().functions.push_back(std::move(forward));
    TrainingOptions options;
    options.loss = "mse";
    options.optimizer = optimizers::options_for(optimizers::Optimizer::adamw);
    options.clip_norm = clip_norm;
    add_training(p_.program(), options);
  }
  const Function& step() {
    return p_.program().functions[static_cast<std::size_t>(p_.program().find_entry(std::string(training::kTrainStep)))];
  }
  /// Parameters, and the losses, after some steps.
  std::vector<std::vector<float>> trained() {
    Session session(p_.model().prepare());
    std::vector<float> numbers(2 * kWide);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::sin(static_cast<float>(i));
    const Tensor x = testing::floats({2, kWide}, numbers), target = testing::floats({2, kWide}, numbers);
    std::vector<std::vector<float>> all(1);
    for (int i = 0; i < 3; ++i) all[0].push_back(static_cast<float>(session.step({x, target}, 1e-3)));
    for (const char* name : kNames) all.push_back(testing::values_of(session.read_state(name)));
    return all;
  }

 private:
  ValueId parameter(const char* name) {
    std::vector<float> values(kWide * kWide);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.1F * std::cos(static_cast<float>(i * name[0]));
    const ValueId v = p_.state({kWide, kWide}, values, false);
    p_.program().states.back().kind = State::Kind::parameter;
    p_.program().states.back().name = name;
    return v;
  }
  TestProgram p_;
};

std::vector<std::size_t> steps_of(const Function& f) {
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < f.nodes.size(); ++i) {
    if (f.nodes[i].op == Op::optim) positions.push_back(i);
  }
  return positions;
}

TEST(EarlySteps, BeginBeforeTheLastGradient) {
  Chain chain;
  const Function& f = chain.step();
  const std::vector<std::size_t> positions = steps_of(f);
  ASSERT_EQ(positions.size(), 3u);
  const auto behind = f.nodes.begin() + static_cast<std::ptrdiff_t>(positions[0]);
  EXPECT_GE(std::ranges::count(behind, f.nodes.end(), Op::matmul, &Node::op), 3);
  Chain clipped(1e9);
  EXPECT_EQ(steps_of(clipped.step()).size(), 1u);
}

TEST(EarlySteps, AreRightBehindTheReadersOfTheOldValuesAndTheGradients) {
  Chain chain;
  const Function& f = chain.step();
  const DefUse uses(f);
  for (std::size_t position : steps_of(f)) {
    const ValueId param = f.nodes[position].inputs[0];
    EXPECT_EQ(last_reader(f, f.nodes.size(), {param}), static_cast<std::int64_t>(position));
    std::int64_t ready = last_reader(f, position, {param});
    for (ValueId v : f.nodes[position].inputs) ready = std::max(ready, uses.producer(v));
    for (auto i = static_cast<std::size_t>(ready + 1); i < position; ++i) EXPECT_EQ(f.nodes[i].op, Op::optim);
  }
}

TEST(EarlySteps, WaitForViewsOfTheOldValues) {
  TestProgram p;
  Builder& b = p.b();
  const Function& f = b.function();
  const std::vector<float> zeros(kWide * kWide);
  const ValueId read = p.state({kWide, kWide}, zeros, false), unread = p.state({kWide, kWide}, zeros, false),
                x = p.input(DType::f32, {Dim(kWide), Dim(kWide)});
  const ValueId of_read = b.expr("x * 2", {{"x", x}}, DType::f32), of_unread = b.expr("x * 3", {{"x", x}}, DType::f32);
  p.output(b.expr("x + v", {{"x", x}, {"v", b.transpose(read, 0, 1)}}, DType::f32));
  const auto last = static_cast<std::int64_t>(f.nodes.size()) - 1;
  EXPECT_EQ(last_reader(f, f.nodes.size(), {read}), last);
  EXPECT_EQ(last_reader(f, f.nodes.size(), {unread}), -1);
  // The gradient computed first belongs to the parameter stepped last.
  EXPECT_EQ(early_steps(b, {read, unread}, {of_read, of_unread}), (std::vector<std::vector<std::size_t>>{{0}, {1}}));
  const std::size_t first = f.nodes.size();
  const ValueId stepped = b.expr("p - g", {{"p", read}, {"g", of_read}}, DType::f32);
  move_up(b.function(), first, last_reader(f, first, {read}));
  EXPECT_EQ(DefUse(f).producer(stepped), last + 1);
  const ValueId other = b.expr("p - g", {{"p", unread}, {"g", of_unread}}, DType::f32);
  move_up(b.function(), first + 1, last_reader(f, first + 1, {unread}));
  EXPECT_EQ(DefUse(f).producer(other), DefUse(f).producer(of_unread) + 1);
}

TEST(EarlySteps, GiveTheBitsOfOneAtTheEnd) {
  // A norm below the limit multiplies the gradients by 1.
  EXPECT_EQ(Chain().trained(), Chain(1e9).trained());
}

}  // namespace
}  // namespace tern
