// Metadata read by examples/generate, also without an exporter's entries.
#include <gtest/gtest.h>
#include <tern/error.h>

#include <memory>

#include "examples/generate/conversation.h"
#include "generation/names.h"
#include "schema/program.h"

namespace tern {
namespace {

using Metadata = std::vector<std::pair<std::string, std::string>>;

Model model_with(Metadata metadata) {
  auto p = std::make_shared<Program>();
  p->metadata = std::move(metadata);
  return Model(std::move(p));
}

Metadata facts() {
  return {{std::string(llm::kVersionKey), std::string(llm::kVersion)},
          {std::string(llm::kContextKey), "2048"},
          {std::string(llm::kVocabularyKey), "32000"},
          {std::string(llm::kBeginKey), "1"},
          {std::string(llm::kEndKey), "2, 7"}};
}

/// The error for another value of a key, or without the key if null.
std::string error_with(std::string_view key, const char* value) {
  Metadata changed = facts();
  std::erase_if(changed, [&](const auto& m) { return m.first == key; });
  if (value != nullptr) changed.emplace_back(key, value);
  try {
    facts_of(model_with(changed));
  } catch (const Error& e) {
    EXPECT_NE(e.code(), ErrorCode::internal);
    return e.what();
  }
  return "";
}

TEST(GenerationFacts, AreReadAsTheExporterWritesThem) {
  const ModelFacts f = facts_of(model_with(facts()));
  EXPECT_EQ(f.context, 2048);
  EXPECT_EQ(f.vocabulary, 32000);
  EXPECT_EQ(f.bos, 1);
  EXPECT_EQ(f.eos, (std::vector<std::int64_t>{2, 7}));
  EXPECT_EQ(error_with(llm::kBeginKey, nullptr), "");
  EXPECT_EQ(error_with(llm::kEndKey, nullptr), "");
}

TEST(GenerationFacts, SlotsAreANumber) {
  const auto batch = [](const char* value) {
    Metadata changed = facts();
    changed[0].second = llm::kSlotsVersion;
    changed.emplace_back(llm::kBatchKey, value);
    return facts_of(model_with(changed)).batch;
  };
  EXPECT_EQ(batch("8"), 8);
  for (const char* wrong : {"", "0", "-1", "8, 8", "65537", "9223372036854775807", "9223372036854775808"})
    EXPECT_THROW(batch(wrong), Error) << wrong;
}

TEST(GenerationFacts, ErrorsNameTheKey) {
  EXPECT_NE(error_with(llm::kVersionKey, nullptr).find("does not generate tokens"), std::string::npos);
  EXPECT_NE(error_with(llm::kVersionKey, "3").find("version 3"), std::string::npos);
  EXPECT_NE(error_with(llm::kVersionKey, "2").find("lacks llm.batch"), std::string::npos);
  EXPECT_NE(error_with(llm::kContextKey, nullptr).find("lacks llm.context"), std::string::npos);
  EXPECT_NE(error_with(llm::kVocabularyKey, "1, 2").find("llm.vocabulary"), std::string::npos);
  for (const char* wrong : {"", "-1", "1e3", "0x10", " 1", "1 ", "1,2", "1, ", ", 1", "9223372036854775808"})
    EXPECT_NE(error_with(llm::kEndKey, wrong).find("llm.eos is no list of numbers"), std::string::npos) << wrong;
}

}  // namespace
}  // namespace tern
