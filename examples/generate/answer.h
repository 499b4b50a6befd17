// One answer under way: what the model reads next, and what becomes of the tokens that it gives.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "answers.h"
#include "options.h"
#include "tokenizer.h"

struct Time {
  double first = 0, others = 0;  ///< seconds to the first token, and for those after it
  std::int64_t prompt = 0, made = 0;
};

class Answer {
 public:
  /// To prompt `number`. Its text goes to `answers` unless that is null. Throws std::runtime_error if the prompt has no
  /// tokens, or more than the cache holds.
  Answer(const Options& options, const ModelFacts& facts, const Tokenizer& tokenizer, std::size_t number,
         Answers* answers);

  /// The prompt at first, then the last token.
  std::span<const std::int64_t> next() const { return next_; }
  const Sampling& sampling() const { return sampling_; }
  std::size_t number() const { return number_; }
  /// Takes the model's next token; `room` is how many more it can read. Returns whether the answer goes on.
  bool add(std::int64_t token, std::int64_t room);
  const Time& time() const { return time_; }

 private:
  using Clock = std::chrono::steady_clock;
  void show(const std::string& text);
  bool end();

  const Options& options_;
  const ModelFacts& facts_;
  std::size_t number_;
  Answers* answers_;
  std::vector<std::int64_t> next_;
  TextStream text_;
  Sampling sampling_;
  Time time_;
  Clock::time_point start_;
};
