// An answer being generated: the model's next input, and the handling of its tokens.
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
  double first = 0, later = 0;  ///< seconds to the first token, and for later tokens
  std::int64_t prompt = 0, generated = 0;
};

class Answer {
 public:
  /// Answer to prompt `number`. Its text goes to `answers` unless null. Throws std::runtime_error for a prompt without
  /// tokens, or with more tokens than the cache holds.
  Answer(const Options& options, const ModelFacts& facts, const Tokenizer& tokenizer, std::size_t number,
         Answers* answers);

  /// The prompt at first, later the last token.
  std::span<const std::int64_t> next() const { return next_; }
  const Sampling& sampling() const { return sampling_; }
  std::size_t number() const { return number_; }
  /// Takes the model's next token; `room` is the number of tokens the model can still read. Returns true if the answer
  /// continues.
  bool add(std::int64_t token, std::int64_t room);
  const Time& time() const { return time_; }

 private:
  using Clock = std::chrono::steady_clock;
  void print_text(const std::string& text);
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
