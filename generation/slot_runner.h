// Runs prefill, decode and verify of a generating archive over its slots.
#pragma once

#include <tern/tern.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "generation/facts.h"

namespace tern::llm {

/// A sequence in a run: its slot, and the position of its first token in the run.
struct RunRow {
  std::int64_t slot = 0, position = 0;
};

/// Belongs to one thread at a time. An archive without slots has slot 0 alone.
class SlotRunner {
 public:
  SlotRunner(const Model& model, const PreparedModel& prepared, const Facts& facts);

  /// Runs of fewer tokens than their prompt may keep the cache of earlier tokens: true if each cache of the archive has
  /// all positions. Windows of positions lack earlier ones.
  bool keeps_positions() const { return keeps_positions_; }
  /// Copies the first `count` positions of a slot to another slot.
  void copy(std::int64_t from, std::int64_t to, std::int64_t count);

  /// Reads tokens of one sequence from its position on.
  void read(RunRow row, std::span<const std::int64_t> tokens, bool wants_logits);
  /// Reads one token of each sequence.
  void step(std::span<const RunRow> rows, std::span<const std::int64_t> tokens, bool wants_logits);
  /// Reads tokens of one sequence from its position on, and gives results behind each. At most Facts::verify tokens.
  void verify(RunRow row, std::span<const std::int64_t> tokens, bool wants_logits);
  // Results of the last run, for each row, and of verify for each token:
  /// The token with the largest logit.
  std::int64_t token(std::size_t row) const { return tokens_[row]; }
  /// Empty without `wants_logits`.
  std::span<const float> logits(std::size_t row) const;

 private:
  struct Cache {
    std::string name;
    std::int64_t positions_axis;
  };
  /// The inputs of all functions, then those of sampling.
  std::vector<Tensor> make_inputs(std::span<const RunRow> rows, std::span<const std::int64_t> tokens);
  void add_sampling(std::vector<Tensor>& inputs, std::size_t rows);
  /// `results`: sizes of the result token.
  void run(std::string_view function, std::span<const Tensor> inputs, const std::vector<std::int64_t>& results,
           bool wants_logits);

  Session session_;
  Facts facts_;
  bool keeps_positions_ = true;
  std::vector<Cache> caches_;
  std::vector<std::int64_t> slots_, positions_;  ///< inputs of a run
  std::vector<std::int64_t> zeros_;
  std::vector<float> float_zeros_, ones_;
  std::vector<std::int64_t> tokens_;
  std::vector<float> logits_;
  bool has_logits_ = false;
};

}  // namespace tern::llm
