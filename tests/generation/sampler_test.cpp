// Probabilities against NumPy's and transformers' (tests/data/sampling/make.py), frequencies of draws, logprobs.
#include "generation/sampler.h"

#include <gtest/gtest.h>
#include <tern/error.h>

#include <cmath>
#include <limits>

#include "tests/generation/sampling_goldens.h"

namespace tern::testing {
namespace {

TextSampling sampling_of(const SamplingGolden& golden) {
  TextSampling s;
  s.repetition_penalty = golden.repetition_penalty;
  s.presence_penalty = golden.presence_penalty;
  s.frequency_penalty = golden.frequency_penalty;
  s.temperature = golden.temperature;
  s.top_k = golden.top_k;
  s.top_p = golden.top_p;
  s.min_p = golden.min_p;
  s.typical_p = golden.typical_p;
  return s;
}

TEST(Sampler, GivesProbabilitiesOfNumPy) {
  for (std::size_t n = 0; n < kSamplingGoldens.size(); ++n) {
    const SamplingGolden& golden = kSamplingGoldens[n];
    Sampler sampler(sampling_of(golden), 0, kSamplingPrompt);
    for (const std::int64_t token : kSamplingAnswer) sampler.note(token);
    std::vector<double> found(golden.probabilities.size(), 0);
    for (const TokenChance& c : sampler.chances(kSamplingLogits[golden.logits]))
      found[static_cast<std::size_t>(c.token)] += c.probability;
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_NEAR(found[i], golden.probabilities[i], 1e-6) << "golden " << n << ", token " << i;
      EXPECT_EQ(found[i] > 0, golden.probabilities[i] > 0) << "golden " << n << ", token " << i;
    }
  }
}

TEST(Sampler, DrawsWithProbabilities) {
  const SamplingGolden& golden = kSamplingGoldens[0];
  Sampler sampler(sampling_of(golden), 7, {});
  constexpr int kDraws = 40000;
  std::vector<int> counts(golden.probabilities.size());
  for (int i = 0; i < kDraws; ++i) ++counts[static_cast<std::size_t>(sampler.choose(kSamplingLogits[0]))];
  double chi_squared = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double expected = golden.probabilities[i] * kDraws;
    chi_squared += (counts[i] - expected) * (counts[i] - expected) / expected;
  }
  // 31 degrees of freedom: above 70 with probability 8e-5. The seed is fixed.
  EXPECT_LT(chi_squared, 70);
}

TEST(Sampler, RepeatsDrawsOfASeed) {
  const auto draws = [](std::uint64_t seed) {
    Sampler sampler(sampling_of(kSamplingGoldens[2]), seed, {});
    std::vector<std::int64_t> tokens;
    for (int i = 0; i < 20; ++i) tokens.push_back(sampler.choose(kSamplingLogits[0]));
    return tokens;
  };
  EXPECT_EQ(draws(5), draws(5));
  EXPECT_NE(draws(5), draws(6));
}

TEST(Sampler, TakesTheLargestLogitAtTemperatureZero) {
  TextSampling s;
  EXPECT_TRUE(Sampler(s, 0, {}).takes_largest());
  EXPECT_EQ(Sampler(s, 0, {}).choose(std::vector<float>{1, 3, 3, 2}), 1);
  s.logit_bias = {{3, 10}};
  EXPECT_FALSE(Sampler(s, 0, {}).takes_largest());
  EXPECT_EQ(Sampler(s, 0, {}).choose(std::vector<float>{1, 3, 3, 2}), 3);
  s.logit_bias = {{1, -10}};
  EXPECT_EQ(Sampler(s, 0, {}).choose(std::vector<float>{1, 3, 3, 2}), 2);
}

TEST(Sampler, RefusesLogitsWithoutMeaning) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  TextSampling s;
  s.temperature = 1;
  EXPECT_THROW(Sampler(s, 0, {}).choose(std::vector<float>{1, std::nanf("")}), Error);
  EXPECT_THROW(Sampler(s, 0, {}).choose(std::vector<float>{1, kInfinity}), Error);
  EXPECT_THROW(Sampler(s, 0, {}).choose(std::vector<float>{-kInfinity, -kInfinity}), Error);
  EXPECT_EQ(Sampler(s, 0, {}).choose(std::vector<float>{-kInfinity, 0}), 1);
}

TEST(Sampler, FindsTopPAmongManyTokens) {
  // Equal probabilities: the sum decides about the count, beyond the first sorted part.
  TextSampling s;
  s.temperature = 1;
  s.top_p = 0.5;
  const std::vector<float> logits(5000, 1);
  const auto chances = Sampler(s, 0, {}).chances(logits);
  EXPECT_NEAR(static_cast<double>(chances.size()), 2500, 1);
}

TEST(Sampler, ChecksRanges) {
  const auto refused = [](auto change) {
    TextSampling s;
    change(s);
    try {
      s.check(32);
    } catch (const Error& e) {
      return e.code() == ErrorCode::invalid_argument;
    }
    return false;
  };
  const double nan = std::nan("");
  EXPECT_FALSE(refused([](TextSampling&) {}));
  EXPECT_TRUE(refused([](TextSampling& s) { s.temperature = -1; }));
  EXPECT_TRUE(refused([&](TextSampling& s) { s.temperature = nan; }));
  EXPECT_TRUE(refused([](TextSampling& s) { s.top_k = -1; }));
  EXPECT_TRUE(refused([](TextSampling& s) { s.top_p = 0; }));
  EXPECT_TRUE(refused([&](TextSampling& s) { s.top_p = nan; }));
  EXPECT_TRUE(refused([](TextSampling& s) { s.min_p = 1.5; }));
  EXPECT_TRUE(refused([](TextSampling& s) { s.typical_p = 0; }));
  EXPECT_TRUE(refused([](TextSampling& s) { s.repetition_penalty = 0; }));
  EXPECT_TRUE(refused([](TextSampling& s) { s.presence_penalty = 1e9; }));
  EXPECT_TRUE(refused([](TextSampling& s) { s.logit_bias = {{32, 1}}; }));
  EXPECT_TRUE(refused([&](TextSampling& s) { s.logit_bias = {{0, nan}}; }));
}

TEST(Sampler, ListsLogprobs) {
  const std::vector<float> logits = {0, std::log(2.0F), std::log(5.0F)};
  const TextToken token = token_logprobs(logits, 0, 2);
  EXPECT_NEAR(token.logprob, std::log(1.0 / 8), 1e-6);
  ASSERT_EQ(token.top.size(), 2U);
  EXPECT_EQ(token.top[0].token, 2);
  EXPECT_NEAR(token.top[0].logprob, std::log(5.0 / 8), 1e-6);
  EXPECT_EQ(token.top[1].token, 1);
  EXPECT_EQ(token_logprobs(logits, 0, 20).top.size(), 3U);
  EXPECT_TRUE(token_logprobs(logits, 0, 0).top.empty());
}

}  // namespace
}  // namespace tern::testing
