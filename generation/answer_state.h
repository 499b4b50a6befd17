// The way of an answer from the engine's thread to its reader.
#pragma once

#include <tern/text_engine.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

namespace tern {

class AnswerState {
 public:
  // Called by the engine:
  void add(TextPiece piece);
  void finish(TextEnd end);

  // Called by any thread:
  void cancel();
  bool is_cancelled() const;

  // Called by the reader:
  /// Without a timeout, waits without limit.
  TextAnswer::Next next(TextPiece& piece, std::optional<std::chrono::milliseconds> timeout);
  const TextEnd& end() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable state_changed_;
  std::deque<TextPiece> pieces_;
  std::optional<TextEnd> end_;
  bool is_cancelled_ = false;
};

}  // namespace tern
