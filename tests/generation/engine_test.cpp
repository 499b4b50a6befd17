// The engine with the model of examples/generate: answers alone and together, shared prefixes, ends of answers.
#include <gtest/gtest.h>
#include <tern/error.h>
#include <tern/text_engine.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/generation/seabirds.h"

namespace tern::testing {
namespace {

using Tokens = std::vector<std::int64_t>;

TextEngineOptions tokenizer_options() {
  TextEngineOptions options;
  options.prepare.threads = 1;
  options.tokenizer = Tokenizer::open(kExample + "tokenizer.model");
  return options;
}

TextRequest request_of(Tokens prompt, std::int64_t max_tokens = 24) {
  TextRequest request;
  request.prompt = std::move(prompt);
  request.max_tokens = max_tokens;
  request.ignore_end = true;
  return request;
}

struct Result {
  std::string text;
  Tokens tokens;
  std::vector<TextToken> details;
  TextEnd end;
};

Result read_all(TextAnswer answer) {
  Result result;
  while (std::optional<TextPiece> piece = answer.next()) {
    result.text += piece->text;
    for (TextToken& token : piece->tokens) {
      result.tokens.push_back(token.token);
      result.details.push_back(std::move(token));
    }
  }
  result.end = answer.end();
  return result;
}

Tokens prompt_of(int number) {
  Tokens prompt = {1};
  for (int i = 0; i < 2 + number * 5 % 17; ++i) prompt.push_back(3 + (number * 31 + i * 7) % 150);
  return prompt;
}

// Ids of PyPI's tokenizers, with the tokens of each file's own rule: qwen2 adds none, llama3 adds bos, bert two.
TEST(TextEngine, EncodesByTheTokenizersOwnRule) {
  const std::string folder = TERN_SOURCE_DIR "/tests/data/text/tokenizers/";
  std::ifstream in(folder + "lines.json");
  const nlohmann::json facts = nlohmann::json::parse(in);
  const Model model = seabirds(0);
  for (const char* name : {"qwen2", "llama3", "gpt2", "bert", "gemma"}) {
    TextEngineOptions options;
    options.prepare.threads = 1;
    options.tokenizer = Tokenizer::open(folder + name + ".json");
    const TextEngine engine(model, options);
    const nlohmann::json& cases = facts["results"][name];
    ASSERT_GT(cases.size(), 10U) << name;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      Tokens expected = cases[i]["ids"].get<Tokens>();
      if (expected.empty()) expected = {1};  // generate() begins with the model's bos
      EXPECT_EQ(engine.encode(facts["lines"][i].get<std::string>()), expected) << name << ", line " << i;
    }
  }
}

TEST(TextEngine, GivesTheSameTokensAloneAndTogether) {
  TextEngine alone(seabirds(0), tokenizer_options());
  TextEngine together(seabirds(3), tokenizer_options());
  EXPECT_EQ(alone.slots(), 1);
  EXPECT_EQ(together.slots(), 3);
  constexpr int kRequests = 12;
  std::vector<TextAnswer> answers;
  // Answers of different lengths: requests join and leave while others go on.
  for (int i = 0; i < kRequests; ++i) answers.push_back(together.submit(request_of(prompt_of(i), 5 + i * 7 % 23)));
  for (int i = 0; i < kRequests; ++i) {
    const Result expected = read_all(alone.submit(request_of(prompt_of(i), 5 + i * 7 % 23)));
    const Result found = read_all(std::move(answers[static_cast<std::size_t>(i)]));
    EXPECT_EQ(found.tokens, expected.tokens) << i;
    EXPECT_EQ(found.text, expected.text) << i;
    EXPECT_EQ(found.end.finish, TextFinish::max_tokens) << found.end.problem;
  }
  const TextEngineStats stats = together.stats();
  EXPECT_EQ(stats.finished, static_cast<std::uint64_t>(kRequests));
  EXPECT_EQ(stats.running + stats.waiting, 0U);
  EXPECT_LT(stats.steps, stats.answer_tokens);
}

TEST(TextEngine, SharesPrefixesWithoutAnotherResult) {
  Tokens prompt = {1};
  for (int i = 0; i < 60; ++i) prompt.push_back(3 + i * 11 % 150);
  Tokens other = prompt;
  other.back() = 5;
  TextEngineOptions apart = tokenizer_options();
  apart.shares_prefixes = false;
  TextEngine reference(seabirds(0), apart);
  const Result first = read_all(reference.submit(request_of(prompt))),
               second = read_all(reference.submit(request_of(other)));
  EXPECT_EQ(second.end.shared_tokens, 0);
  for (const std::int64_t slots : {0, 2}) {
    TextEngineOptions options = tokenizer_options();
    options.prompt_part = 16;
    TextEngine engine(seabirds(slots), options);
    EXPECT_EQ(read_all(engine.submit(request_of(prompt))).tokens, first.tokens);
    const Result again = read_all(engine.submit(request_of(other)));
    EXPECT_EQ(again.tokens, second.tokens);
    EXPECT_EQ(again.end.shared_tokens, 60);
    EXPECT_EQ(engine.stats().shared_tokens, 60U);
  }
  // Two at once: the second copies from the first while that goes on.
  TextEngine engine(seabirds(2), tokenizer_options());
  TextAnswer a = engine.submit(request_of(prompt)), b = engine.submit(request_of(other));
  EXPECT_EQ(read_all(std::move(a)).tokens, first.tokens);
  const Result copied = read_all(std::move(b));
  EXPECT_EQ(copied.tokens, second.tokens);
  EXPECT_EQ(copied.end.shared_tokens, 60);
}

TEST(TextEngine, ContinuesAConversation) {
  TextEngine engine(seabirds(2), tokenizer_options());
  Tokens prompt = engine.encode("The young puffin");
  EXPECT_EQ(prompt[0], 1);
  const Result first = read_all(engine.submit(request_of(prompt, 10)));
  prompt.insert(prompt.end(), first.tokens.begin(), first.tokens.end());
  prompt.push_back(7);
  const Result second = read_all(engine.submit(request_of(prompt, 10)));
  // All but the last token of the answer and the new one.
  EXPECT_EQ(second.end.shared_tokens, static_cast<std::int64_t>(prompt.size()) - 2);
}

TEST(TextEngine, EndsAtTheEndOfTheContext) {
  for (const std::int64_t slots : {0, 2}) {
    TextEngine engine(seabirds(slots), tokenizer_options());
    const Result result = read_all(engine.submit(request_of(prompt_of(1), 0)));
    EXPECT_EQ(result.end.finish, TextFinish::context_end) << result.end.problem;
    EXPECT_EQ(result.end.prompt_tokens + result.end.answer_tokens, engine.context() + 1);
    EXPECT_EQ(static_cast<std::int64_t>(result.tokens.size()), result.end.answer_tokens);
    // A full prompt leaves room for one token.
    EXPECT_EQ(
        read_all(engine.submit(request_of(Tokens(static_cast<std::size_t>(engine.context()), 9), 0))).tokens.size(),
        1U);
    EXPECT_THROW(engine.submit(request_of(Tokens(static_cast<std::size_t>(engine.context()) + 1, 9))), Error);
  }
}

TEST(TextEngine, EndsAtTokensAndTexts) {
  TextEngine engine(seabirds(2), tokenizer_options());
  const Tokens prompt = engine.encode("The young puffin");
  TextRequest request = request_of(prompt, 60);
  request.ignore_end = false;
  const Result whole = read_all(engine.submit(request));
  EXPECT_EQ(whole.end.finish, TextFinish::end_token);
  EXPECT_EQ(whole.tokens.back(), kFullStop);
  EXPECT_EQ(whole.text, " flies over the open sea");  // expected.json, from transformers
  const std::size_t space = whole.text.find(' ', 4);
  ASSERT_NE(space, std::string::npos);
  // A stop text that begins inside a word and ends in the next.
  const std::string stop = whole.text.substr(space - 1, 4);
  request.stop = {"never there", stop};
  const Result stopped = read_all(engine.submit(request));
  EXPECT_EQ(stopped.end.finish, TextFinish::stop_text);
  EXPECT_EQ(stopped.text, whole.text.substr(0, whole.text.find(stop)));
  request.stop.clear();
  request.stop_tokens = {whole.tokens[2]};
  const Result at_token = read_all(engine.submit(request));
  EXPECT_EQ(at_token.end.finish, TextFinish::end_token);
  EXPECT_LE(at_token.tokens.size(), 3U);
}

TEST(TextEngine, RepeatsASeedWithAnyNeighbours) {
  TextRequest request = request_of(prompt_of(3));
  request.sampling.temperature = 1.5;
  request.sampling.seed = 42;
  TextEngine engine(seabirds(3), tokenizer_options());
  const Result alone = read_all(engine.submit(request));
  std::vector<TextAnswer> neighbours;
  for (int i = 0; i < 5; ++i) neighbours.push_back(engine.submit(request_of(prompt_of(i))));
  EXPECT_EQ(read_all(engine.submit(request)).tokens, alone.tokens);
  request.sampling.seed = 43;
  EXPECT_NE(read_all(engine.submit(request)).tokens, alone.tokens);
}

TEST(TextEngine, ListsLogprobsOfGreedyTokens) {
  TextEngine engine(seabirds(2), tokenizer_options());
  TextRequest request = request_of(prompt_of(2), 6);
  request.logprobs = 2;
  const Result result = read_all(engine.submit(request));
  EXPECT_EQ(result.tokens, read_all(engine.submit(request_of(prompt_of(2), 6))).tokens);
  for (const TextToken& token : result.details) {
    ASSERT_EQ(token.top.size(), 2U);
    EXPECT_EQ(token.top[0].token, token.token);
    EXPECT_EQ(token.top[0].logprob, token.logprob);
    EXPECT_LE(token.top[1].logprob, token.logprob);
    EXPECT_LT(token.logprob, 0);
  }
}

TEST(TextEngine, CancelsAnswers) {
  TextEngine engine(seabirds(2), tokenizer_options());
  TextAnswer cancelled = engine.submit(request_of(prompt_of(1), 0));
  ASSERT_TRUE(cancelled.next());
  cancelled.cancel();
  EXPECT_EQ(read_all(std::move(cancelled)).end.finish, TextFinish::cancelled);
  {
    std::vector<TextAnswer> dropped;  // their destructors cancel
    for (int i = 0; i < 20; ++i) dropped.push_back(engine.submit(request_of(prompt_of(i), 0)));
  }
  EXPECT_EQ(read_all(engine.submit(request_of(prompt_of(1), 3))).tokens.size(), 3U);
  auto ended = std::make_unique<TextEngine>(seabirds(2), tokenizer_options());
  std::vector<TextAnswer> answers;
  for (int i = 0; i < 6; ++i) answers.push_back(ended->submit(request_of(prompt_of(i), 0)));
  ended.reset();
  for (TextAnswer& answer : answers) {
    const TextFinish finish = read_all(std::move(answer)).end.finish;
    EXPECT_TRUE(finish == TextFinish::cancelled || finish == TextFinish::context_end);
  }
}

TEST(TextEngine, LimitsItsQueue) {
  TextEngineOptions options = tokenizer_options();
  options.queue_limit = 2;
  TextEngine engine(seabirds(2), options);
  std::vector<TextAnswer> answers;
  bool is_full = false;
  for (int i = 0; i < 50 && !is_full; ++i) {
    try {
      answers.push_back(engine.submit(request_of(prompt_of(i), 0)));
    } catch (const QueueFull&) {
      is_full = true;
    }
  }
  EXPECT_TRUE(is_full);
  for (TextAnswer& answer : answers) EXPECT_EQ(read_all(std::move(answer)).end.finish, TextFinish::context_end);
}

TEST(TextEngine, TakesRequestsOfManyThreads) {
  TextEngine engine(seabirds(4), tokenizer_options());
  std::vector<Tokens> expected;
  for (int i = 0; i < 8; ++i) expected.push_back(read_all(engine.submit(request_of(prompt_of(i), 12))).tokens);
  std::vector<std::thread> threads;
  std::vector<int> wrong(8, 0);
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 8; ++i) {
        const int number = (t + i) % 8;
        const Result result = read_all(engine.submit(request_of(prompt_of(number), 12)));
        wrong[static_cast<std::size_t>(t)] += result.tokens != expected[static_cast<std::size_t>(number)];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(8, 0));
}

TEST(TextEngine, RefusesWrongRequests) {
  TextEngine engine(seabirds(2), tokenizer_options());
  const auto refused = [&](auto change) {
    TextRequest request = request_of({1, 5});
    change(request);
    try {
      engine.submit(request);
    } catch (const Error& e) {
      return e.code() == ErrorCode::invalid_argument;
    }
    return false;
  };
  EXPECT_TRUE(refused([](TextRequest& r) { r.prompt.clear(); }));
  EXPECT_TRUE(refused([](TextRequest& r) { r.prompt = {160}; }));
  EXPECT_TRUE(refused([](TextRequest& r) { r.prompt = {-1}; }));
  EXPECT_TRUE(refused([](TextRequest& r) { r.max_tokens = -1; }));
  EXPECT_TRUE(refused([](TextRequest& r) { r.logprobs = 21; }));
  EXPECT_TRUE(refused([](TextRequest& r) { r.stop = {""}; }));
  EXPECT_TRUE(refused([](TextRequest& r) { r.stop.assign(17, "x"); }));
  EXPECT_TRUE(refused([](TextRequest& r) { r.stop = {std::string(1025, 'x')}; }));
  EXPECT_TRUE(refused([](TextRequest& r) { r.sampling.top_p = 2; }));
  EXPECT_THROW(TextEngine(Model(std::make_shared<Program>())), Error);
  TextEngineOptions none;
  none.prompt_part = 0;
  EXPECT_THROW(TextEngine(seabirds(0), none), Error);
  // Tokens come without text if there is no tokenizer.
  TextEngine plain(seabirds(0));
  EXPECT_EQ(plain.tokenizer(), nullptr);
  const Result tokens = read_all(plain.submit(request_of({1, 5}, 4)));
  EXPECT_EQ(tokens.text, "");
  EXPECT_EQ(tokens.tokens.size(), 4U);
  EXPECT_THROW(plain.encode("text"), Error);
}

}  // namespace
}  // namespace tern::testing
