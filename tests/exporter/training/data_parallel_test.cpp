// Steps of several ranks that share a batch: messages, their order, and final states.
#include "exporter/training/data_parallel.h"

#include <gtest/gtest.h>
#include <tern/collective.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "exporter/training/add_training.h"
#include "exporter/training/methods.h"
#include "schema/op_record.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using testing::TestProgram;

/// Two linear layers with a running sum of the inputs, as `forward` and as `train_step`. All batches fit.
class DataParallelLayers {
 public:
  explicit DataParallelLayers(std::uint64_t bucket) {
    p_.program().functions[0].name = training::kTrainStep;
    Builder& b = p_.b();
    const Dim n = b.pool().symbol("n", 0, 4096);
    const ValueId x = p_.input(DType::f32, {n, Dim(2)});
    const ValueId first = parameter("first", {2, 3}, {1, -2, 3, 0.5, 0.25, -1}),
                  second = parameter("second", {3, 1}, {1, 2, -0.5});
    const ValueId seen = p_.state({2}, {0, 0}, true);
    p_.program().states.back().name = "seen";
    p_.program().states.back().kind = State::Kind::buffer;
    p_.output(b.matmul(b.expr("tanh(h)", {{"h", b.matmul(x, first)}}, DType::f32), second));
    Function forward = p_.program().functions[0];
    forward.name = training::kForward;
    const ValueId sum = b.expr("s + x", {{"s", seen}, {"x", b.reduce(x, "sum", {0}, false, DType::f32)}}, DType::f32);
    p_.write_back(static_cast<std::uint32_t>(p_.program().states.size() - 1), sum);
    p_.program().functions.push_back(std::move(forward));
    TrainingOptions options;
    options.loss = "mse";
    options.optimizer = optimizers::options_for(optimizers::Optimizer::adamw);
    options.bucket = bucket;
    add_training(p_.program(), options);
  }
  Program& program() { return p_.program(); }
  const Function& step() {
    return p_.program().functions[static_cast<std::size_t>(p_.program().find_entry(std::string(training::kTrainStep)))];
  }
  Model model() { return p_.model(); }

 private:
  ValueId parameter(const char* name, const std::vector<std::int64_t>& sizes, const std::vector<float>& values) {
    const ValueId v = p_.state(sizes, values, false);
    p_.program().states.back().kind = State::Kind::parameter;
    p_.program().states.back().name = name;
    return v;
  }
  TestProgram p_;
};

/// A rank's state after its steps.
struct Trained {
  std::vector<double> losses;
  std::vector<std::vector<float>> states;
};

Trained train(const PreparedModel& prepared, std::shared_ptr<ProcessGroup> group) {
  Session session(prepared);
  const int rank = group ? group->rank() : 0, ranks = group ? group->size() : 1;
  if (group) session.set_group(std::move(group));
  Trained t;
  for (int step = 0; step < 5; ++step) {
    const int batch = step == 4 ? 2 : 7;  // shares of unequal sizes, and of none
    std::vector<float> inputs, targets;
    for (int i = rank; i < batch; i += ranks) {
      const auto k = static_cast<float>(step * 10 + i);
      inputs.insert(inputs.end(), {std::sin(k), std::cos(2 * k)});
      targets.push_back(std::sin(3 * k));
    }
    const auto count = static_cast<std::int64_t>(targets.size());
    t.losses.push_back(session.step({testing::floats({count, 2}, inputs), testing::floats({count, 1}, targets)}, 0.05));
  }
  for (const char* name : {"first", "second", "seen", "optimizer.exp_avg.first", "optimizer.exp_avg_sq.second"})
    t.states.push_back(testing::values_of(session.read_state(name)));
  return t;
}

std::vector<Trained> train_ranks(const PreparedModel& prepared, int ranks) {
  std::vector<Trained> trained(static_cast<std::size_t>(ranks));
  const auto group = local_group(ranks, std::chrono::seconds(60));
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < trained.size(); ++r)
    threads.emplace_back([&, r] { trained[r] = train(prepared, group[r]); });
  for (std::thread& t : threads) t.join();
  return trained;
}

TEST(DataParallel, RanksAreOneLargeRank) {
  for (const std::uint64_t bucket : {std::uint64_t{4}, std::uint64_t{1} << 20}) {
    DataParallelLayers layers(bucket);
    const PreparedModel prepared = layers.model().prepare();
    const Trained alone = train(prepared, nullptr);
    for (const int ranks : {2, 3}) {
      const std::vector<Trained> all = train_ranks(prepared, ranks);
      for (std::size_t r = 1; r < all.size(); ++r) {
        EXPECT_EQ(all[r].losses, all[0].losses);
        EXPECT_EQ(all[r].states, all[0].states) << "the same bits on all ranks";
      }
      for (std::size_t i = 0; i < alone.losses.size(); ++i) EXPECT_NEAR(all[0].losses[i], alone.losses[i], 1e-5);
      for (std::size_t s = 0; s < 2; ++s) {
        for (std::size_t i = 0; i < alone.states[s].size(); ++i)
          EXPECT_NEAR(all[0].states[s][i], alone.states[s][i], 1e-4);
      }
    }
  }
}

TEST(DataParallel, BuffersAreThoseOfRankZero) {
  DataParallelLayers layers(1000);
  const std::vector<Trained> all = train_ranks(layers.model().prepare(), 2);
  float sum = 0;
  for (int step = 0; step < 5; ++step) {
    for (int i = 0; i < (step == 4 ? 2 : 7); i += 2) sum += std::sin(static_cast<float>(step * 10 + i));
  }
  EXPECT_NEAR(all[1].states[2][0], sum, 1e-4);
}

/// A step of two ranks, the second without samples: the parameters of each rank.
std::vector<std::vector<float>> step_without_samples(TestProgram& p, const std::string& loss, std::size_t parameters,
                                                     const std::vector<std::int64_t>& sample,
                                                     const std::vector<std::int64_t>& target) {
  p.program().functions[0].name = training::kTrainStep;
  for (State& s : p.program().states) s.kind = State::Kind::parameter;
  Function forward = p.program().functions[0];
  forward.name = training::kForward;
  p.program().functions.push_back(std::move(forward));
  TrainingOptions options;
  options.loss = loss;
  options.optimizer = optimizers::options_for(optimizers::Optimizer::sgd);
  options.bucket = 1 << 20;
  add_training(p.program(), options);
  const PreparedModel prepared = p.model().prepare();
  const auto group = local_group(2, std::chrono::seconds(60));
  std::vector<std::vector<float>> values(2);
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < 2; ++r) {
    threads.emplace_back([&, r] {
      Session session(prepared);
      session.set_group(group[r]);
      const auto ones = [&](std::vector<std::int64_t> sizes) {
        sizes[0] = r == 0 ? 1 : 0;
        Tensor t(DType::f32, sizes);
        std::ranges::fill(t.span<float>(), 1.0F);
        return t;
      };
      std::vector<Tensor> inputs = {ones(sample)};
      if (!target.empty()) inputs.push_back(ones(target));
      try {
        session.step(inputs, 0.5);
      } catch (const std::exception& e) {
        ADD_FAILURE() << "rank " << r << ": " << e.what();
        group[r]->abort(e.what());
        return;
      }
      for (std::size_t i = 0; i < parameters; ++i) {
        const std::vector<float> v = testing::values_of(session.read_state(p.program().states[i].name));
        values[r].insert(values[r].end(), v.begin(), v.end());
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(values[0], values[1]);
  return values;
}

/// A loss without samples is NaN, and so are the gradients of its factors.
TEST(DataParallel, AnOwnLossOfNoSamplesDoesNotCount) {
  TestProgram p;
  Builder& b = p.b();
  const ValueId x = p.input(DType::f32, {b.pool().symbol("n", 0, 4096), Dim(2)});
  const ValueId scale = p.state({}, {2}, false);
  p.program().states.back().name = "scale";
  p.output(b.expr("m * s", {{"m", b.reduce(x, "mean", {0, 1}, false, DType::f32)}, {"s", scale}}, DType::f32));
  EXPECT_EQ(step_without_samples(p, "none", 1, {0, 2}, {})[0], std::vector<float>({1.5F}));
}

/// 32 channels and an image much larger than the kernel: the gradient of the weight is products over all positions.
TEST(DataParallel, ConvolutionsTakeNoSamples) {
  TestProgram p;
  Builder& b = p.b();
  const ValueId x = p.input(DType::f32, {b.pool().symbol("n", 0, 4096), Dim(32), Dim(34)});
  const ValueId weight = p.state({1, 32, 3}, std::vector<float>(96, 0), false);
  p.program().states.back().name = "weight";
  const std::vector<std::int64_t> one = {1}, none = {0};
  p.output(b.add(Op::convolution, {x, weight, kNoValue},
                 {attr(AttrKey::strides, one), attr(AttrKey::dilations, one), attr(AttrKey::before, none),
                  attr(AttrKey::after, none), attr(AttrKey::groups, Dim(1))}));
  // d/dw of the mean of (0 - 1)^2 over 32 positions is -2 for each element: the terms are powers of two, so their sum
  // is exact in any order.
  EXPECT_EQ(step_without_samples(p, "mse", 1, {0, 32, 34}, {0, 1, 32})[0], std::vector<float>(96, 1.0F));
}

/// Nodes of a step between the start of the first gradient bucket and its wait.
TEST(DataParallel, BucketsTravelWhileTheBackwardPassGoesOn) {
  DataParallelLayers small(4), large(std::uint64_t{1} << 20);
  const auto starts = [](const Function& f) {
    return std::ranges::count_if(f.nodes, [](const Node& n) { return n.op == Op::collective; });
  };
  EXPECT_EQ(starts(small.step()), 5) << "count, loss, running sum, two gradients";
  EXPECT_EQ(starts(large.step()), 4) << "both gradients in one bucket";
  // The step sends the gradient of the second layer's weight before computing the first layer's.
  const auto& nodes = small.step().nodes;
  std::vector<std::size_t> calls;
  std::size_t last_product = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].op == Op::collective && nodes[i].integer(AttrKey::kind) == 0) calls.push_back(i);
    if (nodes[i].op == Op::matmul) last_product = i;
  }
  ASSERT_EQ(calls.size(), 4u);
  EXPECT_EQ(calls[0], 2u) << "the count, before everything else";
  EXPECT_LT(calls[2], last_product);
  EXPECT_GT(calls[3], last_product);
}

}  // namespace
}  // namespace tern
