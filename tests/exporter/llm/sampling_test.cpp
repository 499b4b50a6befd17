// Sampled tokens against the probabilities of softmax, top-k and top-p, computed here in double.
#include "exporter/llm/sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include "tests/runtime/support.h"

namespace tern::testing {
namespace {

struct Case {
  std::string name;
  std::int64_t vocabulary = 0;
  double spread = 1;  ///< standard deviation of the logits
  float temperature = 1;
  std::int64_t top_k = 0;
  float top_p = 1;
};

std::vector<float> logits_of(const Case& c) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal(0, static_cast<float>(c.spread));
  std::vector<float> logits(static_cast<std::size_t>(c.vocabulary));
  for (float& x : logits) x = normal(random);
  return logits;
}

/// Probabilities after transformers' processors: temperature, then top-k, then top-p of the remaining tokens.
std::vector<double> probabilities(const std::vector<float>& logits, const Case& c) {
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return logits[a] > logits[b]; });
  if (c.top_k > 0) order.resize(std::min(order.size(), static_cast<std::size_t>(c.top_k)));
  std::vector<double> p;
  double sum = 0;
  for (const std::size_t i : order) {
    p.push_back(std::exp((static_cast<double>(logits[i]) - logits[order[0]]) / c.temperature));
    sum += p.back();
  }
  double before = 0, retained = 0;
  std::vector<double> all(logits.size());
  for (std::size_t r = 0; r < order.size(); ++r) {
    if (c.top_p < 1 && before / sum >= c.top_p) break;
    all[order[r]] = p[r];
    before += p[r];
    retained += p[r];
  }
  for (double& x : all) x /= retained;
  return all;
}

TestProgram program_of(std::int64_t vocabulary) {
  TestProgram p;
  const ValueId logits = p.input(DType::f32, {vocabulary});
  const SamplingInputs in{p.input(DType::f32, {}), p.input(DType::i64, {}), p.input(DType::f32, {})};
  add_sampling_checks(p.b(), in);
  p.output(add_sampling(p.b(), logits, in));
  return p;
}

std::vector<Tensor> inputs_of(const std::vector<float>& logits, const Case& c) {
  const auto n = static_cast<std::int64_t>(logits.size());
  std::vector<Tensor> inputs{Tensor(DType::f32, {n}), Tensor(DType::f32, {}), Tensor(DType::i64, {}),
                             Tensor(DType::f32, {})};
  std::ranges::copy(logits, inputs[0].span<float>().begin());
  inputs[1].span<float>()[0] = c.temperature;
  inputs[2].span<std::int64_t>()[0] = c.top_k;
  inputs[3].span<float>()[0] = c.top_p;
  return inputs;
}

std::int64_t token(Session& session, const std::vector<Tensor>& inputs) {
  return session.run(inputs)[0].span<const std::int64_t>()[0];
}

class Sampling : public ::testing::TestWithParam<Case> {};

/// Pearson's statistic over tokens with an expected count of at least five; all other tokens count together. The
/// statistic exceeds its mean by five standard deviations once in millions; the seed is fixed, so the test passes
/// always or never.
TEST_P(Sampling, DrawsByTheProbabilities) {
  const Case& c = GetParam();
  const std::vector<float> logits = logits_of(c);
  const std::vector<double> p = probabilities(logits, c);
  const TestProgram program = program_of(c.vocabulary);
  Session session(program.model().prepare());
  session.set_seed(11);
  const std::vector<Tensor> inputs = inputs_of(logits, c);
  constexpr int kDraws = 4000;
  std::vector<int> counts(logits.size());
  for (int i = 0; i < kDraws; ++i) {
    const std::int64_t t = token(session, inputs);
    ASSERT_GE(t, 0);
    ASSERT_LT(t, c.vocabulary);
    ASSERT_GT(p[static_cast<std::size_t>(t)], 0) << "token " << t << " was to be left out";
    ++counts[static_cast<std::size_t>(t)];
  }
  double statistic = 0, rare = 0;
  int cells = -1, rare_count = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double expected = p[i] * kDraws;
    if (expected < 5) {
      rare += expected;
      rare_count += counts[i];
      continue;
    }
    statistic += (counts[i] - expected) * (counts[i] - expected) / expected;
    ++cells;
  }
  if (rare >= 5) {
    statistic += (rare_count - rare) * (rare_count - rare) / rare;
    ++cells;
  }
  ASSERT_GT(cells, 0);
  EXPECT_LT(statistic, cells + 5 * std::sqrt(2.0 * cells));
}

INSTANTIATE_TEST_SUITE_P(, Sampling,
                         ::testing::Values(Case{"all", 40}, Case{"cool", 40, 2, 0.5F}, Case{"hot", 40, 2, 3},
                                           Case{"top_k", 40, 1, 1, 5}, Case{"top_p", 40, 1, 1, 0, 0.6F},
                                           Case{"both", 40, 1, 0.8F, 12, 0.7F},
                                           Case{"top_k_of_all", 40, 1, 1, 40, 0.9F}, Case{"large", 2000, 2},
                                           Case{"large_top_k", 2000, 2, 1, 20},
                                           Case{"large_top_p", 2000, 3, 1, 0, 0.5F},          // candidates reach top_p
                                           Case{"large_top_p_sorted", 600, 0.2, 1, 0, 0.9F},  // candidates miss top_p
                                           Case{"large_both_sorted", 600, 1, 1, 500, 0.5F}),
                         [](const auto& info) { return info.param.name; });

TEST(SamplingOf, TemperatureZeroIsTheLargest) {
  const Case c{"", 300, 1, 0};
  const std::vector<float> logits = logits_of(c);
  const TestProgram program = program_of(c.vocabulary);
  Session session(program.model().prepare());
  const auto largest = std::ranges::max_element(logits) - logits.begin();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(token(session, inputs_of(logits, c)), largest);
  EXPECT_EQ(session.random_position().offset, 0U);
}

TEST(SamplingOf, TinyTopPAndTopOneAreTheLargest) {
  for (const Case& c : {Case{"", 300, 1, 1, 0, 1e-6F}, Case{"", 300, 1, 1, 1, 1}, Case{"", 300, 1, 1e-30F, 0, 1}}) {
    const std::vector<float> logits = logits_of(c);
    const TestProgram program = program_of(c.vocabulary);
    Session session(program.model().prepare());
    const auto largest = std::ranges::max_element(logits) - logits.begin();
    for (int i = 0; i < 20; ++i) EXPECT_EQ(token(session, inputs_of(logits, c)), largest);
  }
}

TEST(SamplingOf, SeedsRepeat) {
  const Case c{"", 300, 1, 1, 50, 0.9F};
  const std::vector<Tensor> inputs = inputs_of(logits_of(c), c);
  const TestProgram program = program_of(c.vocabulary);
  Session session(program.model().prepare());
  std::map<int, std::vector<std::int64_t>> drawn;
  for (const int seed : {1, 2, 1}) {
    session.set_seed(static_cast<std::uint64_t>(seed));
    std::vector<std::int64_t> tokens;
    for (int i = 0; i < 50; ++i) tokens.push_back(token(session, inputs));
    const auto [it, first] = drawn.emplace(seed, tokens);
    if (!first) {
      EXPECT_EQ(it->second, tokens);
    }
  }
  EXPECT_NE(drawn[1], drawn[2]);
}

TEST(SamplingOf, WrongOptionsSayWhichAndWhy) {
  const TestProgram program = program_of(10);
  Session session(program.model().prepare());
  const auto message = [&](Case c) {
    c.vocabulary = 10;
    try {
      token(session, inputs_of(logits_of(c), c));
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_NE(message({"", 0, 1, -1}).find("temperature must be a finite number from 0"), std::string::npos);
  EXPECT_NE(message({"", 0, 1, NAN}).find("temperature"), std::string::npos);
  EXPECT_NE(message({"", 0, 1, INFINITY}).find("temperature"), std::string::npos);
  EXPECT_NE(message({"", 0, 1, 1, -1}).find("top_k must be 0 or more"), std::string::npos);
  EXPECT_NE(message({"", 0, 1, 1, 0, 0}).find("top_p must be above 0"), std::string::npos);
  EXPECT_NE(message({"", 0, 1, 1, 0, 1.5F}).find("top_p"), std::string::npos);
  EXPECT_EQ(message({"", 0, 1, 1, 0, 1}), "");
}

}  // namespace
}  // namespace tern::testing
