// Chooses the next token of a sequence from the model's logits.
#pragma once

#include <tern/text_engine.h>

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <span>
#include <vector>

#include "generation/grammar/automaton.h"

namespace tern {

/// A token that may come next.
struct TokenChance {
  std::int64_t token = 0;
  double logit = 0, probability = 0;
};

class Sampler {
 public:
  /// `seed` is the number behind all draws. `sampling` has passed its check.
  Sampler(TextSampling sampling, std::uint64_t seed, std::span<const std::int64_t> prompt);

  /// True if the choice is the largest logit: the archive's own choice at temperature 0.
  bool takes_largest() const { return takes_largest_; }
  /// Chooses the next token. `allowed`: the tokens to choose from; null: all. Throws runtime if the logits hold a NaN
  /// or no finite number.
  std::int64_t choose(std::span<const float> logits, const grammar::TokenMask* allowed = nullptr);
  /// The tokens that may come next, the most likely first if a step ordered them, with probabilities that add up to 1.
  std::vector<TokenChance> chances(std::span<const float> logits, const grammar::TokenMask* allowed = nullptr) const;
  /// Counts a token of the answer for the penalties.
  void note(std::int64_t token);

 private:
  std::vector<float> adjusted_logits(std::span<const float> logits) const;
  double draw();

  TextSampling sampling_;
  bool changes_logits_, takes_largest_;
  std::set<std::int64_t> used_tokens_;                ///< tokens of prompt and answer
  std::map<std::int64_t, std::int64_t> occurrences_;  ///< tokens of the answer
  std::mt19937_64 random_;
};

/// Logarithms of the probabilities of softmax(logits): of `token`, and of the `count` most likely tokens.
TextToken token_logprobs(std::span<const float> logits, std::int64_t token, int count);

}  // namespace tern
