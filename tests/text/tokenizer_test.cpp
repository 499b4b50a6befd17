// Tokenizers: ids and texts of PyPI's tokenizers and sentencepiece (tests/data/text/make_tokenizers.py), streams,
// limits.
#include <gtest/gtest.h>
#include <tern/text.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "text/regex.h"
#include "text/unicode.h"

namespace tern::test {
namespace {

using Ids = std::vector<std::int64_t>;
const std::string kFolder = TERN_SOURCE_DIR "/tests/data/text/tokenizers/";

nlohmann::json facts_of_lines() {
  std::ifstream in(kFolder + "lines.json");
  return nlohmann::json::parse(in);
}

std::string contents(const std::string& name) {
  std::ifstream in(kFolder + name, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(Tokenizers, EncodeAndDecodeAsTheirOriginals) {
  const nlohmann::json facts = facts_of_lines();
  ASSERT_GE(facts["results"].size(), 16u);
  for (const auto& [name, cases] : facts["results"].items()) {
    SCOPED_TRACE(name);
    const bool is_model = name.ends_with(".model");
    const Tokenizer t = Tokenizer::open(kFolder + name + (is_model ? "" : ".json"));
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const std::string line = facts["lines"][i];
      SCOPED_TRACE(facts["lines"][i].dump());
      const Ids plain = t.encode(line, {.add_special = false, .parse_special = false});
      EXPECT_EQ(plain, cases[i]["plain"].get<Ids>());
      if (is_model) {
        EXPECT_EQ(t.decode(plain), cases[i]["text"].get<std::string>());
        continue;
      }
      const Ids ids = t.encode(line);
      EXPECT_EQ(ids, cases[i]["ids"].get<Ids>());
      EXPECT_EQ(t.decode(ids), cases[i]["text"].get<std::string>());
      EXPECT_EQ(t.decode(ids, false), cases[i]["whole"].get<std::string>());
      TextStream stream(t);
      std::string streamed;
      for (const std::int64_t id : ids) {
        const std::string part = stream.add(id);
        EXPECT_EQ(text::valid_size(part), part.size());
        streamed += part;
      }
      EXPECT_EQ(streamed + stream.finish(), cases[i]["text"].get<std::string>());
    }
  }
}

TEST(Tokenizers, TellTheirTokens) {
  const Tokenizer t = Tokenizer::open(kFolder + "llama2.json");
  EXPECT_EQ(t.vocabulary_size(), 700);
  EXPECT_EQ(t.bos(), 1);
  EXPECT_EQ(t.eos(), 2);
  EXPECT_EQ(t.id_of("<0x41>"), 3 + 0x41);
  EXPECT_EQ(t.id_of("no such token"), std::nullopt);
  EXPECT_EQ(t.token(1)->text, "<s>");
  EXPECT_TRUE(t.token(1)->is_special);
  EXPECT_FALSE(t.token(700).has_value());
  EXPECT_FALSE(t.token(-1).has_value());
  EXPECT_EQ(t.special_tokens().size(), 3u);
  EXPECT_EQ(t.decode(Ids{99999999999, 5000}), "");
  EXPECT_THROW(t.decode(Ids{-1}), Error);
  EXPECT_THROW(t.encode("\xff"), Error);
  EXPECT_THROW(t.encode("\xed\xa0\x80"), Error);
}

TEST(Tokenizers, TheConfigurationNamesBosAndEos) {
  const Tokenizer t =
      Tokenizer::from_bytes(contents("llama2.json"), R"({"bos_token": "</s>", "eos_token": {"content": "<unk>"}})");
  EXPECT_EQ(t.bos(), 2);
  EXPECT_EQ(t.eos(), 0);
}

TEST(Tokenizers, TextOfUsersCannotSpellSpecialTokens) {
  const Tokenizer t = Tokenizer::open(kFolder + "qwen2.json");
  const std::int64_t end = *t.id_of("<|im_end|>");
  const Ids parsed = t.encode("a<|im_end|>"), plain = t.encode("a<|im_end|>", {.parse_special = false});
  EXPECT_EQ(std::ranges::count(parsed, end), 1);
  EXPECT_EQ(std::ranges::count(plain, end), 0);
  EXPECT_EQ(t.decode(plain), "a<|im_end|>");
}

TEST(Tokenizers, StreamsHoldPartsOfCharactersBack) {
  const Tokenizer t = Tokenizer::open(kFolder + "llama2.json");
  std::string text;  // byte tokens alone, replacement characters among them, longer than a stream's window
  for (int i = 0; i < 40; ++i) text += i % 3 == 0 ? "\uFFFD" : "\U0001F9FF";
  const Ids ids = t.encode(text, {.add_special = false});
  TextStream stream(t);
  std::string streamed;
  int silent = 0;
  for (const std::int64_t id : ids) {
    const std::string part = stream.add(id);
    silent += part.empty() ? 1 : 0;
    streamed += part;
  }
  EXPECT_EQ(streamed + stream.finish(), t.decode(ids));
  EXPECT_GT(silent, 80);  // three of four bytes, and two of three
  TextStream cut(t);
  EXPECT_EQ(cut.add(*t.id_of("<0xF0>")), "");
  EXPECT_EQ(cut.finish(), "\uFFFD");
}

TEST(Tokenizers, LongWordsTakeLinearlyManySteps) {
  for (const char* name : {"gpt2.json", "llama2.json", "t5.json", "bert.json"}) {
    const Tokenizer t = Tokenizer::open(kFolder + name);
    const std::string word(2'000'000, 'a');  // a quadratic algorithm takes hours
    EXPECT_FALSE(t.encode(word).empty());
  }
}

/// Changes a field of a tokenizer by a JSON pointer, and returns the error of opening it.
std::string error_with(const char* name, const char* pointer, const nlohmann::json& value) {
  nlohmann::json j = nlohmann::json::parse(contents(name));
  j[nlohmann::json::json_pointer(pointer)] = value;
  try {
    Tokenizer::from_bytes(j.dump()).encode("some text, 12 \n");
  } catch (const Error& e) {
    return e.what();
  }
  return {};
}

TEST(Tokenizers, WrongFilesAreRefused) {
  EXPECT_EQ(error_with("gpt2.json", "/version", "1.0"), "");
  const std::vector<std::tuple<const char*, const char*, nlohmann::json>> cases = {
      {"gpt2.json", "/model/type", "Other"},
      {"gpt2.json", "/model/merges", nlohmann::json::array({"a b c"})},
      {"gpt2.json", "/model/merges", nlohmann::json::array({"a zzzz"})},
      {"gpt2.json", "/model/merges", nlohmann::json::array({nlohmann::json::array({"a"})})},
      {"gpt2.json", "/model/merges", {{"a", 1}}},
      {"gpt2.json", "/model/vocab/x", -1},
      {"gpt2.json", "/model/vocab/x", 4294967296},
      {"gpt2.json", "/model/vocab/x", "y"},
      {"gpt2.json", "/model/vocab/x", nlohmann::json::array({1})},
      {"gpt2.json", "/model", 1},
      {"gpt2.json", "/normalizer", 5},
      {"gpt2.json", "/normalizer", {{"type", "Other"}}},
      {"gpt2.json", "/normalizer", {{"type", "Replace"}, {"pattern", {{"Regex", "("}}}, {"content", ""}}},
      {"gpt2.json", "/normalizer", {{"type", "Precompiled"}, {"precompiled_charsmap", "!"}}},
      {"gpt2.json", "/normalizer", {{"type", "Precompiled"}, {"precompiled_charsmap", "/////w=="}}},
      {"gpt2.json",
       "/pre_tokenizer",
       {{"type", "Split"}, {"pattern", {{"Regex", "(a+)+$"}}}, {"behavior", "Sideways"}}},
      {"gpt2.json", "/decoder", {{"type", "Other"}}},
      {"gpt2.json", "/post_processor", {{"type", "TemplateProcessing"}, {"single", nlohmann::json::array()}}},
      {"gpt2.json", "/added_tokens", {{{"content", "new"}, {"id", -5}}}},
      {"gpt2.json", "/added_tokens", {{{"content", std::string(2000, 'x')}, {"id", 5}}}},
      {"t5.json", "/model/unk_id", 100000},
      {"t5.json", "/model/vocab", nlohmann::json::array({nlohmann::json::array({"a"})})},
  };
  for (const auto& [name, pointer, value] : cases)
    EXPECT_NE(error_with(name, pointer, value), "") << pointer << " " << value;
  for (const char* bytes : {"", "{", "{}", "[]", "\xff\xfe", "{\"model\": {\"type\": \"BPE\"}", "not a model"})
    EXPECT_THROW(Tokenizer::from_bytes(bytes), Error) << bytes;
  EXPECT_THROW(Tokenizer::from_bytes(R"({"model": )" + std::string(100000, '[')), Error);
  EXPECT_THROW(Tokenizer::open("/nowhere/tokenizer.json"), Error);
  EXPECT_THROW(Tokenizer::open(TERN_SOURCE_DIR), Error);
}

TEST(Tokenizers, SequencesCannotNestTooDeep) {
  nlohmann::json nested = {{"type", "Lowercase"}};
  for (int i = 0; i < 20; ++i) nested = {{"type", "Sequence"}, {"normalizers", nlohmann::json::array({nested})}};
  EXPECT_NE(error_with("gpt2.json", "/normalizer", nested), "");
}

TEST(Tokenizers, NormalizersCannotGrowTextWithoutBound) {
  nlohmann::json all = nlohmann::json::array();
  for (int i = 0; i < 64; ++i)
    all.push_back({{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "aaaaaaaaaaaaaaaa"}});
  nlohmann::json j = nlohmann::json::parse(contents("gpt2.json"));
  j["normalizer"] = {{"type", "Sequence"}, {"normalizers", all}};
  const Tokenizer t = Tokenizer::from_bytes(j.dump());
  EXPECT_THROW(t.encode("a"), Error);
}

TEST(TokenizerRegex, ClassesOfOniguruma) {
  const auto matches = [](const char* pattern, const char* text) {
    std::vector<text::ByteRange> found;
    text::Regex::expression(pattern).find_all(text, found);
    std::string all;
    for (const text::ByteRange& r : found) all += std::string(text).substr(r.begin, r.end - r.begin) + "|";
    return all;
  };
  EXPECT_EQ(matches("[a[bc]]+", "xabcx"), "abc|");
  EXPECT_EQ(matches("[^a[bc]]+", "xabcy"), "x|y|");
  EXPECT_EQ(matches("[a-z&&[^aeiou]]+", "badge"), "b|dg|");
  EXPECT_EQ(matches("[^a-z&&[^aeiou]]+", "xay!"), "a|!|");
  EXPECT_EQ(matches("[\\S]+", "a b"), "a|b|");
  EXPECT_EQ(matches("\\h+", "xyz0fF"), "0fF|");
  EXPECT_EQ(matches("\\s", "\u180e\u00a0"), "\u00a0|");
  EXPECT_EQ(matches("\\u00e9", "é"), "é|");
  EXPECT_EQ(matches("\\p{^L}+", "a1b"), "1|");
}

TEST(TokenizerRegex, CatastrophicBacktrackingEnds) {
  const std::string text(100000, 'a');
  std::vector<text::ByteRange> found;
  EXPECT_THROW(text::Regex::expression("(?:a|aa)+\\d").find_all(text, found), Error);
}

TEST(TokenizerUnicode, InvalidParts) {
  EXPECT_EQ(text::replace_invalid("a\xf0\x9f\x98z"), "a\uFFFDz");
  EXPECT_EQ(text::replace_invalid("\xe2\x82"), "\uFFFD");
  EXPECT_EQ(text::replace_invalid("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(text::replace_invalid("é"), "é");
  EXPECT_EQ(text::incomplete_tail("a\xf0\x9f\x98"), 3u);
  EXPECT_EQ(text::incomplete_tail("a\x80"), 0u);
  EXPECT_EQ(text::incomplete_tail("\xc3\xa9"), 0u);
}

}  // namespace
}  // namespace tern::test
