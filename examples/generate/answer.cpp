#include "answer.h"

#include <cstdio>
#include <stdexcept>

namespace {

std::vector<std::int64_t> prompt_tokens(const Tokenizer& tokenizer, const ModelFacts& facts, const std::string& prompt,
                                        bool bos) {
  std::vector<std::int64_t> tokens = tokenizer.encode(prompt);
  if (bos && facts.bos && (tokens.empty() || tokens[0] != *facts.bos)) tokens.insert(tokens.begin(), *facts.bos);
  if (tokens.empty()) throw std::runtime_error("the prompt has no tokens");
  if (static_cast<std::int64_t>(tokens.size()) >= facts.context)
    throw std::runtime_error("the prompt has " + std::to_string(tokens.size()) + " tokens, and the cache holds " +
                             std::to_string(facts.context) +
                             " with the answer; shorten it, or export the model with a larger context");
  return tokens;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

Answer::Answer(const Options& options, const ModelFacts& facts, const Tokenizer& tokenizer, std::size_t number,
               Answers* answers)
    : options_(options),
      facts_(facts),
      number_(number),
      answers_(answers),
      next_(prompt_tokens(tokenizer, facts, options.prompts[number], options.bos)),
      text_(tokenizer, next_),
      sampling_(options.sampling),
      start_(Clock::now()) {
  sampling_.seed += number;
  time_.prompt = static_cast<std::int64_t>(next_.size());
  print_text(options.prompts[number]);
}

bool Answer::add(std::int64_t token, std::int64_t room) {
  if (time_.generated++ == 0) {
    time_.first = seconds_since(start_);
    start_ = Clock::now();
  }
  if (facts_.is_end_token(token)) return end();
  std::string added = text_.add(token);
  if (time_.generated == 1 && (options_.tokenizer.empty() || options_.tokenizer == "ids"))
    added.insert(added.begin(), ' ');
  print_text(added);
  if (time_.generated == options_.max_tokens) return end();
  if (room == 0) {
    std::fprintf(stderr, "generate_text: the cache of %lld positions is full\n",
                 static_cast<long long>(facts_.context));
    return end();
  }
  next_ = {token};
  return true;
}

bool Answer::end() {
  print_text(text_.pending_text());
  time_.later = seconds_since(start_);
  return false;
}

void Answer::print_text(const std::string& text) {
  if (answers_ != nullptr) answers_->add(number_, text);
}
