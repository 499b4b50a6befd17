#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <optional>

#include "loops.h"
#include "slots.h"

namespace {

class Queue {
 public:
  Queue(const tern::PreparedModel& prepared, const ModelFacts& facts, const Tokenizer& tokenizer, const Options& o)
      : slots_(prepared, facts),
        facts_(facts),
        tokenizer_(tokenizer),
        options_(o),
        answers_(o.prompts.size()),
        under_way_(static_cast<std::size_t>(facts.batch)),
        outcomes_(o.prompts.size()) {}

  std::vector<Outcome> run() {
    do {
      for (std::size_t slot = 0; slot < under_way_.size(); ++slot) {
        while (!under_way_[slot] && started_ < total()) begin(slot);
      }
    } while (step());
    if (options_.show_time) show_time();
    return std::move(outcomes_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// --repeat runs all prompts once, then all prompts again.
  std::size_t total() const { return options_.prompts.size() * static_cast<std::size_t>(options_.repeat); }

  void begin(std::size_t slot) {
    const std::size_t number = started_ % options_.prompts.size();
    const bool shown = started_++ < options_.prompts.size();
    try {
      Answer& answer = under_way_[slot].emplace(options_, facts_, tokenizer_, number, shown ? &answers_ : nullptr);
      const auto at = static_cast<std::int64_t>(slot);
      add_token(slot, slots_.begin(at, answer.next(), answer.sampling()));
    } catch (const std::exception& error) {  // fails only this prompt: the others continue
      outcomes_[number].problem = error.what();
      if (shown) answers_.finish(number);
      under_way_[slot].reset();
    }
  }

  /// Advances all active texts by a token. False without active texts.
  bool step() {
    std::vector<std::int64_t> slots, tokens;
    for (std::size_t slot = 0; slot < under_way_.size(); ++slot) {
      if (!under_way_[slot]) continue;
      slots.push_back(static_cast<std::int64_t>(slot));
      tokens.push_back(under_way_[slot]->next()[0]);
    }
    if (slots.empty()) return false;
    const Clock::time_point start = Clock::now();
    const std::vector<std::int64_t> next = slots_.step(slots, tokens);
    seconds_ += std::chrono::duration<double>(Clock::now() - start).count();
    ++run_count_;
    generated_ += slots.size();
    for (std::size_t i = 0; i < slots.size(); ++i) add_token(static_cast<std::size_t>(slots[i]), next[i]);
    return true;
  }

  void add_token(std::size_t slot, std::int64_t token) {
    Answer& answer = *under_way_[slot];
    if (answer.add(token, slots_.room(static_cast<std::int64_t>(slot)))) return;
    outcomes_[answer.number()].times.push_back(answer.time());
    if (outcomes_[answer.number()].times.size() == 1) answers_.finish(answer.number());
    under_way_[slot].reset();
  }

  void show_time() const {
    std::fprintf(stderr, "together: %zu tokens in %zu runs of decode, %.1f tokens a second\n", generated_, run_count_,
                 seconds_ > 0 ? static_cast<double>(generated_) / seconds_ : 0.0);
  }

  Slots slots_;
  const ModelFacts& facts_;
  const Tokenizer& tokenizer_;
  const Options& options_;
  Answers answers_;
  std::vector<std::optional<Answer>> under_way_;  ///< active answer of each slot
  std::vector<Outcome> outcomes_;
  std::size_t started_ = 0, generated_ = 0, run_count_ = 0;
  double seconds_ = 0;  ///< seconds in decode
};

}  // namespace

std::vector<Outcome> answer_in_slots(const tern::Model& model, const ModelFacts& facts, const Tokenizer& tokenizer,
                                     const Options& o) {
  tern::PrepareOptions options;
  options.device = o.device;
  options.threads = o.threads;
  // Keeps a plan for each number of active texts.
  options.cached_plans = std::max(options.cached_plans, static_cast<int>(facts.batch));
  return Queue(model.prepare(options), facts, tokenizer, o).run();
}
