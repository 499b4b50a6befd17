#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>

#include "loops.h"

namespace {

Time generate(const tern::PreparedModel& prepared, const ModelFacts& facts, const Tokenizer& tokenizer,
              const Options& o, std::size_t number, Answers* answers) {
  Answer answer(o, facts, tokenizer, number, answers);
  Conversation conversation(prepared, facts, answer.sampling());
  while (true) {
    const std::int64_t token = conversation.read(answer.next());
    if (!answer.add(token, conversation.room())) return answer.time();
  }
}

}  // namespace

std::vector<Outcome> answer_in_sessions(const tern::Model& model, const ModelFacts& facts, const Tokenizer& tokenizer,
                                        const Options& o) {
  const auto cores = std::max(1U, std::thread::hardware_concurrency());
  // Each active prompt holds a cache: at most as many prompts as cores.
  const auto workers = std::min<std::size_t>(cores, o.prompts.size()), share = cores / workers;
  tern::PrepareOptions options;
  options.device = o.device;
  options.threads = o.threads > 0 ? o.threads : static_cast<int>(share);
  const tern::PreparedModel prepared = model.prepare(options);
  Answers answers(o.prompts.size());
  std::vector<Outcome> outcomes(o.prompts.size());
  const auto make = [&](std::size_t i) {
    try {
      for (std::int64_t r = 0; r < o.repeat; ++r)
        outcomes[i].times.push_back(generate(prepared, facts, tokenizer, o, i, r == 0 ? &answers : nullptr));
    } catch (const std::exception& error) {
      outcomes[i].problem = error.what();
    }
    answers.finish(i);
  };
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < o.prompts.size(); i = next++) make(i);
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < workers; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}
