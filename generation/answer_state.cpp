#include "generation/answer_state.h"

#include <utility>

namespace tern {

void AnswerState::add(TextPiece piece) {
  const std::lock_guard lock(mutex_);
  pieces_.push_back(std::move(piece));
  state_changed_.notify_one();
}

void AnswerState::finish(TextEnd end) {
  const std::lock_guard lock(mutex_);
  end_ = std::move(end);
  state_changed_.notify_one();
}

void AnswerState::cancel() {
  const std::lock_guard lock(mutex_);
  is_cancelled_ = true;
}

bool AnswerState::is_cancelled() const {
  const std::lock_guard lock(mutex_);
  return is_cancelled_;
}

TextAnswer::Next AnswerState::next(TextPiece& piece, std::optional<std::chrono::milliseconds> timeout) {
  std::unique_lock lock(mutex_);
  const auto is_ready = [&] { return !pieces_.empty() || end_.has_value(); };
  if (!timeout) {
    state_changed_.wait(lock, is_ready);
  } else if (!state_changed_.wait_for(lock, *timeout, is_ready)) {
    return TextAnswer::Next::timeout;
  }
  if (pieces_.empty()) return TextAnswer::Next::end;
  piece = std::move(pieces_.front());
  pieces_.pop_front();
  return TextAnswer::Next::piece;
}

const TextEnd& AnswerState::end() const {
  const std::lock_guard lock(mutex_);
  if (!end_) fail(ErrorCode::invalid_argument, "TextAnswer::end: the answer has not ended; call next() to its end");
  return *end_;
}

TextAnswer::~TextAnswer() {
  if (state_) state_->cancel();
}

TextAnswer& TextAnswer::operator=(TextAnswer&& other) noexcept {
  if (state_ && this != &other) state_->cancel();
  state_ = std::move(other.state_);
  return *this;
}

std::optional<TextPiece> TextAnswer::next() {
  TextPiece piece;
  if (state_->next(piece, {}) == Next::end) return {};
  return piece;
}

TextAnswer::Next TextAnswer::next(TextPiece& piece, std::chrono::milliseconds timeout) {
  return state_->next(piece, timeout);
}

void TextAnswer::cancel() const noexcept {
  state_->cancel();
}

const TextEnd& TextAnswer::end() const {
  return state_->end();
}

}  // namespace tern
