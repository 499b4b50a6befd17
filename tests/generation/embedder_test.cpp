// Vectors of texts: those of transformers, alone, together and from many threads; cuts, refusals.
#include <gtest/gtest.h>
#include <tern/cancel.h>
#include <tern/error.h>
#include <tern/text_embedder.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "exporter/importer.h"
#include "exporter/llm/add_embedding.h"

namespace tern::testing {
namespace {

const std::string kEmbeddings = TERN_SOURCE_DIR "/tests/data/embeddings/";
using Texts = std::vector<std::vector<std::int64_t>>;

Model encoder(const EmbeddingOptions& options = {}) {
  Program program = import_pt2(kEmbeddings + "encoder.pt2");
  add_embedding(program, options);
  return Model(std::make_shared<Program>(std::move(program)));
}

TextEmbedderOptions bert_options() {
  TextEmbedderOptions options;
  options.prepare.threads = 1;
  options.tokenizer = Tokenizer::open(TERN_SOURCE_DIR "/tests/data/text/tokenizers/bert.json");
  return options;
}

struct EmbeddingCase {
  std::string text;
  std::vector<std::int64_t> ids;
  std::vector<double> vector;
};

std::vector<EmbeddingCase> embedding_cases() {
  std::ifstream in(kEmbeddings + "expected.json");
  std::vector<EmbeddingCase> cases;
  for (const nlohmann::json& one : nlohmann::json::parse(in)) cases.push_back({one["text"], one["ids"], one["vector"]});
  return cases;
}

double difference(const float* found, const std::vector<double>& expected) {
  double largest = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) largest = std::max(largest, std::abs(found[i] - expected[i]));
  return largest;
}

TEST(TextEmbedder, GivesTheVectorsOfTransformers) {
  TextEmbedder embedder(encoder(), bert_options());
  EXPECT_EQ(embedder.context(), 24);
  EXPECT_EQ(embedder.dimensions(), 16);
  const std::vector<EmbeddingCase> cases = embedding_cases();
  ASSERT_GE(cases.size(), 8U);
  Texts all;
  for (const EmbeddingCase& c : cases) {
    EXPECT_EQ(embedder.cut(embedder.encode(c.text)), c.ids) << c.text;
    EXPECT_LT(difference(embedder.embed({c.ids}).data(), c.vector), 1e-6) << c.text;
    all.push_back(c.ids);
  }
  const std::vector<float> together = embedder.embed(all);
  for (std::size_t i = 0; i < cases.size(); ++i)
    EXPECT_LT(difference(together.data() + i * 16, cases[i].vector), 1e-6) << cases[i].text;
  EXPECT_EQ(embedder.embed({}).size(), 0U);
  EXPECT_EQ(embedder.stats().texts, 2 * cases.size());
}

TEST(TextEmbedder, SharesRunsBetweenThreads) {
  TextEmbedderOptions options = bert_options();
  options.run_tokens = 96;
  TextEmbedder embedder(encoder(), options);
  const std::vector<EmbeddingCase> cases = embedding_cases();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t round = 0; round < 20; ++round) {
        Texts texts;
        for (std::size_t i = 0; i <= (t + round) % 5; ++i) texts.push_back(cases[(t + round + i) % cases.size()].ids);
        // A token outside the vocabulary fails its own call alone.
        const bool is_broken = (t + round) % 7 == 0;
        if (is_broken) texts[0][0] = 900;
        try {
          const std::vector<float> found = embedder.embed(texts);
          wrong += is_broken;
          for (std::size_t i = 0; i < texts.size(); ++i)
            wrong += difference(found.data() + i * 16, cases[(t + round + i) % cases.size()].vector) > 1e-6;
        } catch (const Error&) {
          wrong += !is_broken;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(TextEmbedder, EndsCallsThatDoNotGoOn) {
  TextEmbedderOptions options = bert_options();
  options.run_tokens = 1;  // a run for each text
  TextEmbedder embedder(encoder(), options);
  const Texts texts(50, {2, 100, 3});
  int asked = 0;
  EXPECT_THROW(embedder.embed(texts, [&] { return ++asked < 5; }), Cancelled);
  EXPECT_LT(embedder.stats().runs, 10U);
  // Thread 1 leaves at once; runs of other threads may embed all texts of threads 3 and 5 before they leave.
  std::vector<std::thread> threads;
  std::atomic<int> cancelled = 0;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      int runs = 0;
      try {
        embedder.embed(texts, [&] { return t % 2 == 0 || ++runs < t; });
      } catch (const Cancelled&) {
        ++cancelled;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(cancelled, 1);
  EXPECT_LE(cancelled, 3);
}

TEST(TextEmbedder, CutsTextsAndVectors) {
  TextEmbedder embedder(encoder({.context = 6}), bert_options());
  EXPECT_FALSE(embedder.cuts());
  EXPECT_EQ(embedder.cut({2, 10, 11, 12, 13, 14, 15, 3}), (std::vector<std::int64_t>{2, 10, 11, 12, 13, 3}));
  EXPECT_EQ(embedder.cut({2, 10, 3}), (std::vector<std::int64_t>{2, 10, 3}));
  // Ids that do not end as the tokenizer ends a text.
  EXPECT_EQ(embedder.cut({2, 10, 11, 12, 13, 14, 15}), (std::vector<std::int64_t>{2, 10, 11, 12, 13, 14}));
  EXPECT_TRUE(TextEmbedder(encoder({.cuts = true})).cuts());
  EXPECT_EQ(shortened_embedding({3, 4, 5}, 2), (std::vector<float>{0.6F, 0.8F}));
  EXPECT_EQ(shortened_embedding({0, 0, 5}, 2), (std::vector<float>{0, 0}));
}

std::string embedding_refusal(const auto& call) {
  try {
    call();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
    return e.what();
  }
  return {};
}

TEST(TextEmbedder, NamesWhatIsWrong) {
  TextEmbedder embedder(encoder());
  EXPECT_NE(embedding_refusal([&] { embedder.embed({{}}); }).find("no tokens"), std::string::npos);
  EXPECT_NE(embedding_refusal([&] { embedder.embed({std::vector<std::int64_t>(25, 5)}); }).find("at most 24"),
            std::string::npos);
  EXPECT_NE(embedding_refusal([&] { embedder.embed({{-1}}); }).find("negative"), std::string::npos);
  EXPECT_NE(embedding_refusal([&] { embedder.encode("a"); }).find("no tokenizer"), std::string::npos);
  EXPECT_NE(embedding_refusal([] { TextEmbedder(Model(std::make_shared<Program>())); }).find("--embeddings"),
            std::string::npos);
  EXPECT_NE(embedding_refusal([] { encoder({.context = 25}); }).find("at most 24"), std::string::npos);
  EXPECT_NE(embedding_refusal([] {
              Program program = import_pt2(TERN_SOURCE_DIR "/examples/digits/digits.pt2");
              add_embedding(program, {});
            }).find("docs/embeddings.md"),
            std::string::npos);
}

}  // namespace
}  // namespace tern::testing
