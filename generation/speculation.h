// Proposes tokens of answers, which the model then checks in one run (speculative decoding).
#pragma once

#include <tern/text_engine.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "generation/draft_model.h"
#include "generation/facts.h"
#include "generation/proposal_size.h"

namespace tern {

/// Belongs to one thread at a time. Any proposed tokens leave an answer as it is: the model chooses each token from its
/// own logits, and a proposal only decides which logits a run has.
class Speculation {
 public:
  /// Throws invalid_argument if the archive cannot check tokens, or the draft model has other tokens.
  Speculation(const TextEngineOptions& options, const PrepareOptions& prepare, const llm::Facts& facts,
              bool keeps_positions, const Tokenizer* tokenizer);

  /// Tokens that may follow, at most `max_tokens`; empty if a run of one token seems faster.
  const std::vector<std::int64_t>& propose(std::span<const std::int64_t> tokens, std::size_t max_tokens);
  /// Reports the tokens that the model chose after propose(): those confirmed, and one of its own.
  void note_chosen(std::span<const std::int64_t> chosen);
  void note_run(std::size_t tokens, double seconds) { times_.note(tokens, seconds); }

 private:
  std::size_t choose_size(const Acceptance& acceptance, std::size_t available, double token_seconds = 0) const;

  llm::Facts facts_;
  std::size_t fixed_size_;  ///< 0: chosen by times
  std::optional<DraftModel> draft_;
  RunTimes times_;
  /// Shares by origin: repeated ends of 2, 3 to 4, 5 to 8, 9 to 16 tokens, and the draft model.
  std::array<Acceptance, 5> acceptances_;
  Acceptance* origin_ = nullptr;  ///< share of the last proposal
  std::vector<std::int64_t> proposed_;
  std::vector<std::int64_t> expected_;  ///< tokens to compare with the model's choice, proposed or not
};

}  // namespace tern
