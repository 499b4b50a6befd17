// Proposes tokens by a smaller model.
#pragma once

#include <tern/tern.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "generation/facts.h"
#include "generation/slot_runner.h"

namespace tern {

/// Belongs to one thread at a time.
class DraftModel {
 public:
  DraftModel(const Model& model, const PrepareOptions& options);

  const llm::Facts& facts() const { return facts_; }
  /// The model's greedy continuation, at most `count` tokens; fewer at the end of the model's context.
  std::vector<std::int64_t> propose(std::span<const std::int64_t> tokens, std::size_t count);
  /// Mean time of a proposed token; 0 before the first proposals.
  double token_seconds() const { return token_seconds_; }

 private:
  void read_tokens(std::span<const std::int64_t> tokens);

  llm::Facts facts_;
  llm::SlotRunner runner_;
  std::vector<std::int64_t> tokens_;  ///< tokens in the cache
  double token_seconds_ = 0;
};

}  // namespace tern
