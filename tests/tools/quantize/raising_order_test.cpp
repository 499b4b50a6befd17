// The order of raising weights to larger formats, against all combinations.
#include "tools/quantize/raising_order.h"

#include <gtest/gtest.h>

#include <random>

namespace tern {
namespace {

using Weights = std::vector<std::vector<Rung>>;

struct Total {
  std::uint64_t bytes = 0;
  double noise = 0;
};

Total total_of(const Weights& weights, const std::vector<std::size_t>& rungs) {
  Total t;
  for (std::size_t w = 0; w < weights.size(); ++w) {
    t.bytes += weights[w][rungs[w]].bytes;
    t.noise += weights[w][rungs[w]].noise;
  }
  return t;
}

/// The least noise of all combinations within the limit of bytes.
double min_noise(const Weights& weights, std::uint64_t bytes) {
  double least = 1e300;
  std::vector<std::size_t> rungs(weights.size());
  while (true) {
    const Total t = total_of(weights, rungs);
    if (t.bytes <= bytes) least = std::min(least, t.noise);
    std::size_t w = 0;
    while (w < rungs.size() && ++rungs[w] == weights[w].size()) rungs[w++] = 0;
    if (w == rungs.size()) return least;
  }
}

Weights random_weights(unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_int_distribution<std::uint64_t> bytes(1, 40);
  std::uniform_real_distribution<double> noise(0, 1);
  Weights weights(5);
  for (auto& rungs : weights) {
    for (int i = 0; i < 3; ++i) rungs.push_back({bytes(generator), noise(generator)});
    rungs.push_back({60, 0});
  }
  return weights;
}

TEST(RaisingOrder, EachPrefixIsTheBestUseOfItsBytes) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const Weights weights = random_weights(seed);
    const RaisingOrder order = raising_order(weights);
    std::vector<std::size_t> rungs = order.start;
    Total last = total_of(weights, rungs);
    EXPECT_DOUBLE_EQ(last.noise, min_noise(weights, last.bytes)) << seed;
    for (const Raise& r : order.raises) {
      ASSERT_EQ(rungs[r.weight], r.from_rung);
      rungs[r.weight] = r.to_rung;
      const Total now = total_of(weights, rungs);
      EXPECT_GT(now.bytes, last.bytes);
      EXPECT_LT(now.noise, last.noise);
      EXPECT_NEAR(now.noise, min_noise(weights, now.bytes), 1e-12) << seed;
      last = now;
    }
    EXPECT_EQ(last.noise, 0);
  }
}

TEST(RaisingOrder, PassesOverWhatCostsMoreThanItGives) {
  // The second rung is worse than going directly from the first to the third.
  const RaisingOrder order = raising_order({{{10, 1}, {20, 0.9}, {30, 0.1}, {60, 0}}});
  EXPECT_EQ(order.start, std::vector<std::size_t>{0});
  ASSERT_EQ(order.raises.size(), 2u);
  EXPECT_EQ(order.raises[0].to_rung, 2u);
  EXPECT_EQ(order.raises[1].to_rung, 3u);
}

TEST(RaisingOrder, OrderOfTheOptionDoesNotMatter) {
  const RaisingOrder order = raising_order({{{30, 0.1}, {10, 1}, {10, 2}, {60, 0}}});
  EXPECT_EQ(order.start, std::vector<std::size_t>{1});
  ASSERT_EQ(order.raises.size(), 2u);
  EXPECT_EQ(order.raises[0].from_rung, 1u);
  EXPECT_EQ(order.raises[0].to_rung, 0u);
}

TEST(RaisingOrder, AWeightWithoutEffectStaysSmall) {
  const RaisingOrder order = raising_order({{{10, 0}, {30, 0}, {60, 0}}, {{10, 0.5}, {60, 0}}});
  ASSERT_EQ(order.raises.size(), 1u);
  EXPECT_EQ(order.raises[0].weight, 1u);
}

TEST(RaisingOrder, TiesGoToTheEarlierWeight) {
  const std::vector<Rung> same = {{10, 0.5}, {20, 0}};
  const RaisingOrder order = raising_order({same, same, same});
  ASSERT_EQ(order.raises.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(order.raises[i].weight, i);
}

}  // namespace
}  // namespace tern
