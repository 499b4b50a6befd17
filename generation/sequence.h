// A request under way: its tokens, and what their text and number decide.
#pragma once

#include <tern/text_engine.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "generation/answer_state.h"
#include "generation/constraint.h"
#include "generation/facts.h"
#include "generation/sampler.h"
#include "generation/stop_texts.h"

namespace tern {

class Sequence {
 public:
  /// `tokenizer` and `constraint` may be null.
  Sequence(TextRequest request, std::shared_ptr<AnswerState> answer, const llm::Facts& facts,
           const Tokenizer* tokenizer, std::unique_ptr<Constraint> constraint, std::uint64_t seed);

  /// Prompt and answer.
  const std::vector<std::int64_t>& tokens() const { return tokens_; }
  std::int64_t prompt_size() const { return end_.prompt_tokens; }
  /// Tokens not in the cache yet. More than one while the prompt is read.
  std::span<const std::int64_t> unread() const { return std::span(tokens_).subspan(read_); }
  std::int64_t read_count() const { return static_cast<std::int64_t>(read_); }
  bool reads_prompt() const { return unread().size() > 1 || end_.answer_tokens == 0; }
  /// True if the choice of the next token needs the logits.
  bool needs_logits() const { return request_.logprobs >= 0 || !takes_largest(); }
  /// Number of tokens that the answer can still have.
  std::int64_t tokens_left() const;
  std::chrono::steady_clock::time_point submitted() const { return begin_; }
  bool is_cancelled() const { return answer_->is_cancelled(); }

  /// The next `count` tokens of the prompt are in the cache already.
  void share(std::int64_t count);
  void note_read(std::int64_t count) { read_ += static_cast<std::size_t>(count); }
  /// Counts tokens that a run checked, and those of them that the model chose, too.
  void note_proposed(std::int64_t proposed, std::int64_t accepted) {
    end_.proposed_tokens += proposed;
    end_.accepted_tokens += accepted;
  }
  /// Chooses the next token after a run: from `logits`, or `largest`, the archive's choice. Gives its text to the
  /// reader. False at the end of the answer, which the reader then has.
  bool choose(std::int64_t largest, std::span<const float> logits);
  void finish(TextFinish finish, std::string problem = {});

 private:
  using Clock = std::chrono::steady_clock;
  bool is_end_token(std::int64_t token) const;
  bool takes_largest() const { return sampler_.takes_largest() && !constraint_; }
  /// Tokens that the constraint allows, with the end tokens where the answer may end.
  grammar::TokenMask allowed_tokens();

  TextRequest request_;
  std::shared_ptr<AnswerState> answer_;
  const llm::Facts& facts_;
  std::vector<std::int64_t> tokens_;
  std::size_t read_ = 0;
  Sampler sampler_;
  std::unique_ptr<Constraint> constraint_;
  std::optional<TextStream> text_;
  StopTexts stops_;
  TextEnd end_;
  Clock::time_point begin_ = Clock::now(), first_;
};

}  // namespace tern
