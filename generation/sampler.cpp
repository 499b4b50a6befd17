#include "generation/sampler.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace tern {
namespace {

using Chances = std::vector<TokenChance>;

/// A higher logit first; of equal logits, the lower token.
bool is_likelier(const TokenChance& a, const TokenChance& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
}

/// Sets probabilities to softmax(logit).
void set_probabilities(Chances& chances) {
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (const TokenChance& c : chances) largest = std::max(largest, c.logit);
  for (TokenChance& c : chances) sum += c.probability = std::exp(c.logit - largest);
  for (TokenChance& c : chances) c.probability /= sum;
}

void keep_top_k(Chances& chances, std::int64_t k) {
  if (k <= 0 || static_cast<std::size_t>(k) >= chances.size()) return;
  const auto end = chances.begin() + static_cast<std::ptrdiff_t>(k);
  std::nth_element(chances.begin(), end - 1, chances.end(), is_likelier);
  chances.erase(end, chances.end());
}

/// Sorts the most likely tokens until their probabilities reach `sum`, and drops the others.
void keep_top_p(Chances& chances, double sum) {
  if (sum >= 1) return;
  set_probabilities(chances);
  std::size_t sorted = 0, count = 0;
  double probability_sum = 0;
  while (probability_sum < sum && count < chances.size()) {
    if (count == sorted) {
      // Few tokens decide in most cases, and sorting a vocabulary takes milliseconds.
      const std::size_t next_sorted = std::min(chances.size(), std::max<std::size_t>(256, sorted * 8));
      std::partial_sort(chances.begin() + static_cast<std::ptrdiff_t>(sorted),
                        chances.begin() + static_cast<std::ptrdiff_t>(next_sorted), chances.end(), is_likelier);
      sorted = next_sorted;
    }
    probability_sum += chances[count++].probability;
  }
  chances.resize(std::max<std::size_t>(count, 1));
}

void keep_min_p(Chances& chances, double fraction) {
  if (fraction <= 0) return;
  double largest = -std::numeric_limits<double>::infinity();
  for (const TokenChance& c : chances) largest = std::max(largest, c.logit);
  const double min_logit = largest + std::log(fraction);
  std::erase_if(chances, [&](const TokenChance& c) { return c.logit < min_logit; });
}

/// Keeps the tokens whose information is nearest to the entropy (Meister et al., Locally Typical Sampling, 2022).
void keep_typical(Chances& chances, double sum) {
  if (sum >= 1) return;
  set_probabilities(chances);
  double entropy = 0;
  for (const TokenChance& c : chances) entropy -= c.probability > 0 ? c.probability * std::log(c.probability) : 0;
  const auto distance = [&](const TokenChance& c) { return std::abs(-std::log(c.probability) - entropy); };
  std::ranges::sort(chances, [&](const TokenChance& a, const TokenChance& b) {
    const double x = distance(a), y = distance(b);
    return x != y ? x < y : a.token < b.token;
  });
  std::size_t count = 0;
  for (double probability_sum = 0; probability_sum < sum && count < chances.size(); ++count)
    probability_sum += chances[count].probability;
  chances.resize(std::max<std::size_t>(count, 1));
}

void check_range(const char* name, double value, bool is_valid, const char* range) {
  if (!is_valid) fail(ErrorCode::invalid_argument, fmt::format("{} must be {}, not {}", name, range, value));
}

}  // namespace

void TextSampling::check(std::int64_t vocabulary) const {
  const auto is_between = [](double x, double low, double high) { return x >= low && x <= high; };
  check_range("temperature", temperature, is_between(temperature, 0, 1e4), "0 to 10000");
  check_range("top_k", static_cast<double>(top_k), top_k >= 0, "0 or more");
  check_range("top_p", top_p, top_p > 0 && top_p <= 1, "above 0, and at most 1");
  check_range("min_p", min_p, is_between(min_p, 0, 1), "0 to 1");
  check_range("typical_p", typical_p, typical_p > 0 && typical_p <= 1, "above 0, and at most 1");
  check_range("repetition_penalty", repetition_penalty, is_between(repetition_penalty, 1e-3, 1e3), "0.001 to 1000");
  check_range("presence_penalty", presence_penalty, is_between(presence_penalty, -100, 100), "-100 to 100");
  check_range("frequency_penalty", frequency_penalty, is_between(frequency_penalty, -100, 100), "-100 to 100");
  for (const auto& [token, bias] : logit_bias) {
    if (token < 0 || token >= vocabulary) {
      fail(ErrorCode::invalid_argument,
           fmt::format("logit_bias has token {}; token ids are 0 to {}", token, vocabulary - 1));
    }
    check_range("logit_bias", bias, is_between(bias, -1e4, 1e4), "-10000 to 10000");
  }
}

Sampler::Sampler(TextSampling sampling, std::uint64_t seed, std::span<const std::int64_t> prompt)
    : sampling_(std::move(sampling)),
      changes_logits_(!sampling_.logit_bias.empty() || sampling_.repetition_penalty != 1 ||
                      sampling_.presence_penalty != 0 || sampling_.frequency_penalty != 0),
      takes_largest_(sampling_.temperature == 0 && !changes_logits_),
      random_(seed) {
  if (sampling_.repetition_penalty != 1) used_tokens_.insert(prompt.begin(), prompt.end());
}

void Sampler::note(std::int64_t token) {
  if (sampling_.repetition_penalty != 1) used_tokens_.insert(token);
  if (sampling_.presence_penalty != 0 || sampling_.frequency_penalty != 0) ++occurrences_[token];
}

/// The logits after bias and penalties.
std::vector<float> Sampler::adjusted_logits(std::span<const float> logits) const {
  std::vector<float> result(logits.begin(), logits.end());
  const auto logit_of = [&](std::int64_t token) -> float& { return result[static_cast<std::size_t>(token)]; };
  for (const auto& [token, bias] : sampling_.logit_bias) logit_of(token) += static_cast<float>(bias);
  const auto penalty = static_cast<float>(sampling_.repetition_penalty);
  for (const std::int64_t token : used_tokens_)
    logit_of(token) = logit_of(token) < 0 ? logit_of(token) * penalty : logit_of(token) / penalty;
  for (const auto& [token, count] : occurrences_) {
    logit_of(token) -=
        static_cast<float>(sampling_.presence_penalty + sampling_.frequency_penalty * static_cast<double>(count));
  }
  return result;
}

std::vector<TokenChance> Sampler::chances(std::span<const float> raw_logits, const grammar::TokenMask* allowed) const {
  std::vector<float> adjusted;
  if (changes_logits_) adjusted = adjusted_logits(raw_logits);
  const std::span<const float> logits = changes_logits_ ? std::span<const float>(adjusted) : raw_logits;
  const double scale = sampling_.temperature == 0 ? 1 : 1 / sampling_.temperature;
  Chances chances;
  chances.reserve(logits.size());
  float largest = -std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (allowed != nullptr && !allowed->contains(static_cast<std::int64_t>(i))) continue;
    if (std::isnan(logits[i])) fail(ErrorCode::runtime, fmt::format("the model's logit of token {} is NaN", i));
    largest = std::max(largest, logits[i]);
    if (logits[i] > -std::numeric_limits<float>::infinity())
      chances.push_back({static_cast<std::int64_t>(i), logits[i] * scale, 0});
  }
  if (!std::isfinite(largest)) fail(ErrorCode::runtime, "the model's logits have no largest finite number");
  if (sampling_.temperature == 0) {
    chances.assign(1, *std::ranges::min_element(chances, is_likelier));
  } else {
    keep_top_k(chances, sampling_.top_k);
    keep_top_p(chances, sampling_.top_p);
    keep_min_p(chances, sampling_.min_p);
    keep_typical(chances, sampling_.typical_p);
  }
  set_probabilities(chances);
  return chances;
}

/// A number in [0, 1) with 53 random bits.
double Sampler::draw() {
  constexpr double kDrawUnit = 1.0 / 9007199254740992.0;  // 2^-53
  return static_cast<double>(random_() >> 11) * kDrawUnit;
}

std::int64_t Sampler::choose(std::span<const float> logits, const grammar::TokenMask* allowed) {
  const Chances candidates = chances(logits, allowed);
  double remaining = candidates.size() == 1 ? 0 : draw();
  for (const TokenChance& c : candidates) {
    remaining -= c.probability;
    if (remaining < 0) return c.token;
  }
  return candidates.back().token;  // sums of probabilities round
}

TextToken token_logprobs(std::span<const float> logits, std::int64_t token, int count) {
  float largest = -std::numeric_limits<float>::infinity();
  for (const float x : logits) largest = std::max(largest, x);
  double sum = 0;
  for (const float x : logits) sum += std::exp(static_cast<double>(x) - largest);
  const double shift = largest + std::log(sum);
  const auto logprob = [&](std::int64_t t) { return static_cast<double>(logits[static_cast<std::size_t>(t)]) - shift; };
  TextToken result{token, logprob(token), {}};
  std::vector<std::int64_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto end = order.begin() + std::min<std::ptrdiff_t>(count, static_cast<std::ptrdiff_t>(order.size()));
  std::partial_sort(order.begin(), end, order.end(), [&](std::int64_t a, std::int64_t b) {
    const float x = logits[static_cast<std::size_t>(a)], y = logits[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  });
  for (auto t = order.begin(); t != end; ++t) result.top.push_back({*t, logprob(*t)});
  return result;
}

}  // namespace tern
