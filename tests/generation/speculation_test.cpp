// Speculative decoding: answers equal to those of single steps, tokens and distributions; proposals; refusals.
#include <gtest/gtest.h>
#include <tern/error.h>
#include <tern/text_engine.h>

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "generation/proposal_size.h"
#include "generation/repeated_text.h"
#include "tests/generation/seabirds.h"

namespace tern::testing {
namespace {

using Ids = std::vector<std::int64_t>;

Ids repeated(const Ids& tokens, std::size_t most = 15) {
  const RepeatedText found = find_repeated_text(tokens, most);
  return {found.tokens.begin(), found.tokens.end()};
}

TEST(RepeatedText, FindsTheLongestEndAndItsLastOccurrence) {
  EXPECT_EQ(repeated({}), Ids{});
  EXPECT_EQ(repeated({1}), Ids{});
  EXPECT_EQ(repeated({1, 2, 3, 4}), Ids{});
  EXPECT_EQ(repeated({1, 2, 9, 2}), Ids{});                           // a common end of one token is too short
  EXPECT_EQ(repeated({1, 2, 3, 4, 1, 2}), (Ids{3, 4, 1, 2}));         // up to the end of the text
  EXPECT_EQ(repeated({1, 2, 3, 4, 1, 2}, 2), (Ids{3, 4}));            // limited
  EXPECT_EQ(repeated({1, 2, 5, 1, 2, 6, 1, 2}, 1), Ids{6});           // the last one
  EXPECT_EQ(repeated({7, 1, 2, 5, 8, 1, 2, 6, 7, 1, 2}, 1), Ids{5});  // the longest one
  EXPECT_EQ(repeated({4, 4, 4, 4}, 3), Ids{4});
  EXPECT_EQ(find_repeated_text(Ids{7, 1, 2, 5, 7, 1, 2}, 1).common, 3U);
}

RunTimes times_of(const std::map<std::size_t, double>& seconds) {
  RunTimes times;
  for (const auto& [size, s] : seconds) {
    times.note(size, 100);  // the first run makes a plan
    times.note(size, s);
  }
  return times;
}

TEST(ProposalSize, TakesTheMostTokensASecond) {
  const RunTimes flat = times_of({{1, 1.0}, {2, 1.0}, {4, 1.0}, {8, 1.0}, {16, 1.0}});
  EXPECT_EQ(choose_proposal_size(flat, 0.9, 15), 15U);
  EXPECT_EQ(choose_proposal_size(flat, 0.9, 14), 7U);
  EXPECT_EQ(choose_proposal_size(flat, 0.9, 2), 1U);
  EXPECT_EQ(choose_proposal_size(flat, 0.0, 15), 0U);
  const RunTimes linear = times_of({{1, 1.0}, {2, 2.0}, {4, 4.0}, {8, 8.0}, {16, 16.0}});
  EXPECT_EQ(choose_proposal_size(linear, 0.99, 15), 0U);
  // 1 + 0.5 of 1.6 seconds: worse than 1 of 1; 1 + 0.9 are better.
  const RunTimes half = times_of({{1, 1.0}, {2, 1.6}, {4, 3.0}, {8, 6.0}, {16, 12.0}});
  EXPECT_EQ(choose_proposal_size(half, 0.5, 15), 0U);
  EXPECT_EQ(choose_proposal_size(half, 0.9, 15), 1U);
  // A draft model's own time counts.
  EXPECT_EQ(choose_proposal_size(flat, 0.5, 1, 0.4), 1U);
  EXPECT_EQ(choose_proposal_size(flat, 0.5, 1, 0.6), 0U);
  EXPECT_EQ(choose_proposal_size(RunTimes(), 0.9, 15), 0U);  // without measurements
  // Sizes without a measurement get a trial.
  EXPECT_EQ(choose_proposal_size(times_of({{1, 1.0}}), 0.9, 15), 15U);
}

TEST(ProposalSize, LearnsFromChoices) {
  Acceptance acceptance(0.5);
  for (int i = 0; i < 50; ++i) acceptance.note(true);
  EXPECT_GT(acceptance.share(), 0.95);
  for (int i = 0; i < 50; ++i) acceptance.note(false);
  EXPECT_LT(acceptance.share(), 0.05);
  for (int i = 0; i < 500; ++i) acceptance.note_unused();
  EXPECT_NEAR(acceptance.share(), 0.5, 0.01);
}

TextEngineOptions speculating(std::int64_t tokens) {
  TextEngineOptions options;
  options.prepare.threads = 1;
  options.speculates = tokens >= 0;
  options.speculated_tokens = std::max<std::int64_t>(tokens, 0);
  options.tokenizer = Tokenizer::open(kExample + "tokenizer.model");
  return options;
}

struct Answered {
  Ids tokens;
  std::string text;
  TextEnd end;
};

Answered answered(TextEngine& engine, TextRequest request) {
  Answered result;
  TextAnswer answer = engine.submit(std::move(request));
  while (std::optional<TextPiece> piece = answer.next()) {
    result.text += piece->text;
    for (const TextToken& token : piece->tokens) result.tokens.push_back(token.token);
  }
  result.end = answer.end();
  EXPECT_EQ(result.end.problem, "");
  return result;
}

TextRequest question(Ids prompt, std::int64_t max_tokens) {
  TextRequest request;
  request.prompt = std::move(prompt);
  request.max_tokens = max_tokens;
  request.ignore_end = true;
  return request;
}

/// A text twice, so that the second one has its continuation in the first.
Ids twice(int number) {
  Ids prompt = {1};
  for (int time = 0; time < 2; ++time) {
    for (int i = 0; i < 12; ++i) prompt.push_back(3 + (number * 31 + i * 7) % 150);
  }
  return prompt;
}

TEST(Speculation, GivesTheTokensOfSingleSteps) {
  for (const std::int64_t slots : {0, 2}) {
    TextEngine plain(seabirds(slots), speculating(-1));
    std::vector<std::unique_ptr<TextEngine>> engines;
    for (const std::int64_t tokens : {0, 1, 4, 15})
      engines.push_back(std::make_unique<TextEngine>(seabirds(slots), speculating(tokens)));
    TextEngineOptions drafted = speculating(3);
    drafted.speculates = false;  // implied
    drafted.draft = seabirds(0);
    engines.push_back(std::make_unique<TextEngine>(seabirds(slots), drafted));
    drafted.draft = seabirds(3);
    drafted.speculated_tokens = 0;
    engines.push_back(std::make_unique<TextEngine>(seabirds(slots), drafted));
    for (int number = 0; number < 6; ++number) {
      for (const std::int64_t max_tokens : {1, 2, 3, 60, 0}) {  // 0: to the end of the context
        TextRequest request = question(twice(number), max_tokens);
        if (number == 3) request.logprobs = 1;
        const Answered expected = answered(plain, request);
        for (const auto& engine : engines) {
          const Answered found = answered(*engine, request);
          EXPECT_EQ(found.tokens, expected.tokens);
          EXPECT_EQ(found.text, expected.text);
          EXPECT_EQ(found.end.finish, expected.end.finish);
          EXPECT_LE(found.end.accepted_tokens, found.end.proposed_tokens);
        }
      }
    }
    EXPECT_EQ(plain.stats().proposed_tokens, 0U);
    for (std::size_t i = 1; i < engines.size() - 1; ++i) {
      const TextEngineStats stats = engines[i]->stats();
      EXPECT_GT(stats.accepted_tokens, 100U) << i;
      EXPECT_LT(stats.steps, plain.stats().steps) << i;
    }
    // The model is its own draft: it confirms nearly all tokens.
    const TextEngineStats stats = engines[4]->stats();
    EXPECT_GT(static_cast<double>(stats.accepted_tokens), 0.5 * static_cast<double>(stats.proposed_tokens));
  }
}

TEST(Speculation, TakesBackRejectedTokensForLaterRequests) {
  TextEngine plain(seabirds(0), speculating(-1)), engine(seabirds(0), speculating(15));
  for (int number = 0; number < 12; ++number) {
    // Prompts that continue answers share their caches.
    const Answered first = answered(plain, question(twice(number), 20));
    EXPECT_EQ(answered(engine, question(twice(number), 20)).tokens, first.tokens);
    Ids longer = twice(number);
    longer.insert(longer.end(), first.tokens.begin(), first.tokens.end());
    longer.push_back(7);
    const Answered found = answered(engine, question(longer, 20));
    EXPECT_EQ(found.tokens, answered(plain, question(longer, 20)).tokens);
    EXPECT_EQ(found.end.shared_tokens, static_cast<std::int64_t>(longer.size()) - 2);
  }
}

TEST(Speculation, RepeatsASeed) {
  TextEngine plain(seabirds(0), speculating(-1)), engine(seabirds(0), speculating(4));
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    TextRequest request = question(twice(2), 40);
    request.sampling.temperature = 0.7;
    request.sampling.top_k = seed % 2 == 0 ? 0 : 5;
    request.sampling.repetition_penalty = seed % 3 == 0 ? 1.2 : 1;
    request.sampling.seed = seed;
    EXPECT_EQ(answered(engine, request).tokens, answered(plain, request).tokens) << seed;
  }
  EXPECT_GT(engine.stats().accepted_tokens, 0U);
  EXPECT_LT(engine.stats().accepted_tokens, engine.stats().proposed_tokens);
}

/// Draws with other seeds have the same distribution: of the second token, which a proposal may decide.
TEST(Speculation, KeepsTheDistribution) {
  TextEngine plain(seabirds(0), speculating(-1));
  TextEngineOptions options = speculating(2);
  options.draft = seabirds(0);
  TextEngine engine(seabirds(0), options);
  constexpr int kDraws = 1000;
  std::map<std::pair<std::int64_t, std::int64_t>, std::pair<double, double>> counts;
  for (int i = 0; i < kDraws; ++i) {
    TextRequest request = question({1, 10, 58, 71}, 4);
    request.sampling.temperature = 1.2;
    request.sampling.seed = static_cast<std::uint64_t>(i);
    const Ids expected = answered(plain, request).tokens;
    request.sampling.seed = static_cast<std::uint64_t>(i + kDraws);
    const Ids found = answered(engine, request).tokens;
    ++counts[{expected[1], expected[2]}].first;
    ++counts[{found[1], found[2]}].second;
  }
  EXPECT_GT(engine.stats().accepted_tokens, 100U);
  EXPECT_LT(engine.stats().accepted_tokens, engine.stats().proposed_tokens);
  EXPECT_GT(counts.size(), 8U);
  // Two samples of one distribution: chi-squared, with pairs of few draws together.
  double chi_squared = 0, rare_first = 0, rare_second = 0;
  int cells = 0;
  const auto add = [&](double a, double b) {
    if (a + b == 0) return;
    chi_squared += (a - b) * (a - b) / (a + b);
    ++cells;
  };
  for (const auto& [pair, count] : counts) {
    if (count.first + count.second < 20) {
      rare_first += count.first;
      rare_second += count.second;
    } else {
      add(count.first, count.second);
    }
  }
  add(rare_first, rare_second);
  const double freedom = cells - 1;
  EXPECT_LT(chi_squared, freedom + 4 * std::sqrt(2 * freedom));  // the seeds are fixed, so it holds or not
}

TEST(Speculation, EndsAnswersAsSingleStepsDo) {
  TextEngine plain(seabirds(2), speculating(-1)), engine(seabirds(2), speculating(15));
  const Ids prompt = plain.encode("The young puffin flies over the open sea. The young puffin");
  TextRequest request = question(prompt, 60);
  request.ignore_end = false;
  const auto compare = [&] {
    const Answered expected = answered(plain, request), found = answered(engine, request);
    EXPECT_EQ(found.tokens, expected.tokens);
    EXPECT_EQ(found.text, expected.text);
    EXPECT_EQ(found.end.finish, expected.end.finish);
    return expected;
  };
  const Answered whole = compare();
  EXPECT_EQ(whole.end.finish, TextFinish::end_token);
  request.stop = {whole.text.substr(whole.text.size() / 2, 4)};
  EXPECT_EQ(compare().end.finish, TextFinish::stop_text);
  request.stop.clear();
  request.grammar = "root ::= \" flies over the open\" (\" sea\" | \" gull\")";
  compare();
}

TEST(Speculation, GivesTheSameAnswersToSeveralRequests) {
  TextEngine plain(seabirds(3), speculating(-1)), engine(seabirds(3), speculating(7));
  std::vector<TextAnswer> answers;
  for (int i = 0; i < 9; ++i) answers.push_back(engine.submit(question(twice(i), 5 + i * 13 % 40)));
  for (int i = 0; i < 9; ++i) {
    Ids tokens;
    while (std::optional<TextPiece> piece = answers[static_cast<std::size_t>(i)].next()) {
      for (const TextToken& token : piece->tokens) tokens.push_back(token.token);
    }
    EXPECT_EQ(tokens, answered(plain, question(twice(i), 5 + i * 13 % 40)).tokens) << i;
  }
}

std::string speculation_refused(const Model& model, const TextEngineOptions& options) {
  try {
    const TextEngine engine(model, options);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
    return e.what();
  }
  return {};
}

TEST(Speculation, NamesTheReExportOfOldArchives) {
  GenerationOptions given{.bos = 1, .eos = {kFullStop}};
  Program program = import_pt2(kExample + "seabirds.pt2");
  add_generation(program, given);
  std::erase_if(program.metadata, [](const auto& entry) { return entry.first == "llm.verify"; });
  const Model old(std::make_shared<Program>(std::move(program)));
  EXPECT_NE(speculation_refused(old, speculating(4)).find("Export the model again"), std::string::npos);
  EXPECT_EQ(speculation_refused(old, speculating(-1)), "");
  EXPECT_NE(speculation_refused(seabirds(0), speculating(16)).find("must be 0 to 15"), std::string::npos);
}

}  // namespace
}  // namespace tern::testing
