// Continues texts by a model of `tern export --llm`: examples/generate/README.md.
#include <tern/tern.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "answers.h"
#include "conversation.h"
#include "options.h"
#include "tokenizer.h"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::unique_ptr<Tokenizer> tokenizer_of(const std::string& name) {
  if (name.empty() || name == "ids") return id_tokenizer();
  if (name == "bytes") return byte_tokenizer();
  return sentencepiece_tokenizer(name);
}

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

struct Time {
  double first = 0, others = 0;  ///< seconds to the first token, and for those after it
  std::int64_t prompt = 0, made = 0;
};

/// One answer, in a session of its own. Its text goes to `answers` unless that is null.
Time generate(const tern::Prepared& prepared, const ModelFacts& facts, const Tokenizer& tokenizer, const Options& o,
              std::size_t answer, Answers* answers) {
  const std::string& prompt = o.prompts[answer];
  std::vector<std::int64_t> tokens = prompt_tokens(tokenizer, facts, prompt, o.bos);
  Sampling sampling = o.sampling;
  sampling.seed += answer;
  Conversation conversation(prepared, facts, sampling);
  TextStream text(tokenizer, tokens);
  const auto show = [&](const std::string& added) {
    if (answers != nullptr) answers->add(answer, added);
  };
  show(prompt);
  Time time{.prompt = static_cast<std::int64_t>(tokens.size())};
  Clock::time_point start = Clock::now();
  while (true) {
    const std::int64_t next = conversation.read(tokens);
    if (time.made++ == 0) {
      time.first = seconds_since(start);
      start = Clock::now();
    }
    if (facts.ends(next)) break;
    std::string added = text.add(next);
    if (time.made == 1 && (o.tokenizer.empty() || o.tokenizer == "ids")) added.insert(added.begin(), ' ');
    show(added);
    if (time.made == o.max_tokens) break;
    if (conversation.room() == 0) {
      std::fprintf(stderr, "generate_text: the cache of %lld positions is full\n",
                   static_cast<long long>(facts.context));
      break;
    }
    tokens = {next};
  }
  show(text.rest());
  time.others = seconds_since(start);
  return time;
}

void show_time(const Time& t) {
  std::fprintf(stderr, "%lld tokens of prompt, first token after %.1f ms, then %.1f tokens a second\n",
               static_cast<long long>(t.prompt), t.first * 1e3,
               t.others > 0 ? static_cast<double>(t.made - 1) / t.others : 0.0);
}

int run(const Options& o) {
  const tern::Model model = tern::Model::open(o.archive);
  const ModelFacts facts = facts_of(model);
  const std::unique_ptr<Tokenizer> tokenizer = tokenizer_of(o.tokenizer);
  const auto cores = std::max(1U, std::thread::hardware_concurrency());
  // Each prompt at work holds a cache: no more of them than cores.
  const auto workers = std::min<std::size_t>(cores, o.prompts.size()), share = cores / workers;
  tern::PrepareOptions options;
  options.threads = o.threads > 0 ? o.threads : static_cast<int>(share);
  const tern::Prepared prepared = model.prepare(options);
  Answers answers(o.prompts.size());
  std::vector<std::string> problems(o.prompts.size());
  std::vector<std::vector<Time>> times(o.prompts.size());  // of each time that an answer was made
  const auto make = [&](std::size_t i) {
    try {
      for (std::int64_t r = 0; r < o.repeat; ++r)
        times[i].push_back(generate(prepared, facts, *tokenizer, o, i, r == 0 ? &answers : nullptr));
    } catch (const std::exception& error) {
      problems[i] = error.what();
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
  int status = 0;
  for (std::size_t i = 0; i < o.prompts.size(); ++i) {
    if (!problems[i].empty()) {
      std::fprintf(stderr, "generate_text: '%s': %s\n", o.prompts[i].c_str(), problems[i].c_str());
      status = 1;
    } else if (o.show_time) {
      for (const Time& time : times[i]) show_time(time);
    }
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "generate_text: %s\n", error.what());
    return 1;
  }
}
