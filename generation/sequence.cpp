#include "generation/sequence.h"

#include <tern/error.h>

#include <algorithm>
#include <utility>

namespace tern {
namespace {

double seconds_between(std::chrono::steady_clock::time_point begin, std::chrono::steady_clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

}  // namespace

Sequence::Sequence(TextRequest request, std::shared_ptr<AnswerState> answer, const llm::Facts& facts,
                   const Tokenizer* tokenizer, std::unique_ptr<Constraint> constraint, std::uint64_t seed)
    : request_(std::move(request)),
      answer_(std::move(answer)),
      facts_(facts),
      tokens_(request_.prompt),
      sampler_(request_.sampling, seed, tokens_),
      constraint_(std::move(constraint)),
      stops_(request_.stop) {
  if (tokenizer != nullptr) text_.emplace(*tokenizer, tokens_);
  end_.prompt_tokens = static_cast<std::int64_t>(tokens_.size());
}

void Sequence::share(std::int64_t count) {
  end_.shared_tokens += count;
  note_read(count);
}

bool Sequence::is_end_token(std::int64_t token) const {
  return (!request_.ignore_end && std::ranges::find(facts_.eos, token) != facts_.eos.end()) ||
         std::ranges::find(request_.stop_tokens, token) != request_.stop_tokens.end();
}

std::int64_t Sequence::tokens_left() const {
  const std::int64_t in_context = facts_.context + 1 - static_cast<std::int64_t>(tokens_.size());
  return request_.max_tokens == 0 ? in_context : std::min(in_context, request_.max_tokens - end_.answer_tokens);
}

grammar::TokenMask Sequence::allowed_tokens() {
  grammar::TokenMask mask = constraint_->mask(tokens_left());
  const auto set = [&](std::int64_t token) {
    if (token < 0 || token >= facts_.vocabulary || !is_end_token(token)) return;
    if (mask.contains(token) == constraint_->can_end()) return;
    mask.flip(token);
  };
  for (const std::int64_t token : facts_.eos) set(token);
  for (const std::int64_t token : request_.stop_tokens) set(token);
  return mask;
}

bool Sequence::choose(std::int64_t largest, std::span<const float> logits) {
  std::int64_t token = largest;
  if (constraint_) {
    const grammar::TokenMask allowed = allowed_tokens();
    if (allowed.count == 0) {
      if (constraint_->can_end()) return finish(TextFinish::end_token), false;
      fail(ErrorCode::runtime, "no token of the vocabulary continues the answer as its schema or grammar demands");
    }
    token = sampler_.choose(logits, &allowed);
  } else if (!sampler_.takes_largest()) {
    token = sampler_.choose(logits);
  }
  sampler_.note(token);
  tokens_.push_back(token);
  if (++end_.answer_tokens == 1) {
    first_ = Clock::now();
    end_.first_seconds = seconds_between(begin_, first_);
  }
  TextPiece piece;
  piece.tokens.push_back(request_.logprobs >= 0 ? token_logprobs(logits, token, request_.logprobs)
                                                : TextToken{token, 0, {}});
  const bool is_end = is_end_token(token);
  if (text_ && !is_end) piece.text = stops_.add(text_->add(token));
  answer_->add(std::move(piece));
  if (is_end) return finish(TextFinish::end_token), false;
  if (constraint_) constraint_->add(token);
  if (stops_.found()) return finish(TextFinish::stop_text), false;
  if (constraint_ && constraint_->is_complete()) return finish(TextFinish::end_token), false;
  if (end_.answer_tokens == request_.max_tokens) return finish(TextFinish::max_tokens), false;
  // The last token would need a position of its own to be read.
  if (static_cast<std::int64_t>(tokens_.size()) > facts_.context) return finish(TextFinish::context_end), false;
  return true;
}

void Sequence::finish(TextFinish finish, std::string problem) {
  if (text_ && finish != TextFinish::failed && finish != TextFinish::stop_text) {
    TextPiece rest;
    rest.text = stops_.add(text_->finish()) + stops_.finish();
    if (!rest.text.empty()) answer_->add(std::move(rest));
    if (stops_.found()) finish = TextFinish::stop_text;
  }
  end_.finish = finish;
  end_.problem = std::move(problem);
  if (end_.answer_tokens > 0) end_.answer_seconds = seconds_between(first_, Clock::now());
  answer_->finish(end_);
}

}  // namespace tern
