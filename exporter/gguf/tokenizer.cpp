#include "exporter/gguf/tokenizer.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "dtypes/printable.h"
#include "exporter/gguf/pre_tokenizers.h"
#include "loader/utf8.h"

namespace tern::gguf {
namespace {

using nlohmann::json;

/// tokenizer.ggml.token_type.
enum class TokenType : std::int64_t { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };

/// Control tokens that end an answer, where the metadata name one end only.
constexpr std::array<std::string_view, 7> kEndTokens = {"<|eot_id|>", "<|im_end|>",    "<|end|>", "<end_of_turn>",
                                                        "<|eom_id|>", "<|endoftext|>", "<EOT>"};

/// Vocabulary, and the ids with a use of their own.
class Vocabulary {
 public:
  Vocabulary(const Metadata& metadata, std::int64_t rows)
      : metadata_(metadata), tokens_(metadata.texts(kTokens)), types_(metadata.integers(kTypes)) {
    if (std::ssize(tokens_) > rows)
      metadata.refuse(kTokens, fmt::format("has {} tokens for an embedding of {} rows", tokens_.size(), rows));
    if (!types_.empty() && types_.size() != tokens_.size())
      metadata.refuse(kTypes, fmt::format("has {} types for {} tokens", types_.size(), tokens_.size()));
    for (std::size_t i = 0; i < tokens_.size(); ++i) ids_.emplace(tokens_[i], static_cast<std::int64_t>(i));
  }

  static constexpr const char *kTokens = "tokenizer.ggml.tokens", *kTypes = "tokenizer.ggml.token_type";

  const std::vector<std::string_view>& tokens() const { return tokens_; }
  TokenType type(std::size_t i) const { return types_.empty() ? TokenType::normal : static_cast<TokenType>(types_[i]); }
  std::optional<std::int64_t> find(std::string_view token) const {
    const auto found = ids_.find(token);
    if (found == ids_.end()) return {};
    return found->second;
  }
  bool all_utf8() const { return std::ranges::all_of(tokens_, is_valid_text); }

  std::optional<std::int64_t> id(std::string_view key) const {
    const auto n = metadata_.integer(key, 0, std::numeric_limits<std::uint32_t>::max());
    if (n && *n == std::numeric_limits<std::uint32_t>::max()) return {};  // none
    if (n && !tokens_.empty() && *n >= std::ssize(tokens_))
      metadata_.refuse(key, fmt::format("is {}, but there are {} tokens", *n, tokens_.size()));
    return n;
  }
  std::string text(std::int64_t id) const { return std::string(tokens_[static_cast<std::size_t>(id)]); }

 private:
  const Metadata& metadata_;
  std::vector<std::string_view> tokens_;
  std::vector<std::int64_t> types_;
  std::unordered_map<std::string_view, std::int64_t> ids_;
};

json vocabulary_json(const Vocabulary& v) {
  json vocabulary = json::object();
  for (std::size_t i = 0; i < v.tokens().size(); ++i) vocabulary.emplace(std::string(v.tokens()[i]), i);
  return vocabulary;
}

json added_tokens(const Vocabulary& v) {
  json entries = json::array();
  for (std::size_t i = 0; i < v.tokens().size(); ++i) {
    const TokenType t = v.type(i);
    if (t != TokenType::control && t != TokenType::user_defined && t != TokenType::unknown) continue;
    entries.push_back({{"id", i},
                       {"content", std::string(v.tokens()[i])},
                       {"single_word", false},
                       {"lstrip", false},
                       {"rstrip", false},
                       {"normalized", false},
                       {"special", t != TokenType::user_defined}});
  }
  return entries;
}

/// Adds the first token, and the last one if the metadata ask for it, around a text.
json post_processor(const std::optional<std::string>& first, std::int64_t first_id,
                    const std::optional<std::string>& last, std::int64_t last_id) {
  if (!first && !last) return nullptr;
  const auto special = [](const std::string& token, int type) {
    return json{{"SpecialToken", {{"id", token}, {"type_id", type}}}};
  };
  const auto sequence = [](const char* name, int type) {
    return json{{"Sequence", {{"id", name}, {"type_id", type}}}};
  };
  json single = json::array(), pair = json::array(), tokens = json::object();
  for (const auto& [name, type] : {std::pair{"A", 0}, {"B", 1}}) {
    json template_part = json::array();
    if (first) template_part.push_back(special(*first, type));
    template_part.push_back(sequence(name, type));
    if (last) template_part.push_back(special(*last, type));
    if (type == 0) single = template_part;
    pair.insert(pair.end(), template_part.begin(), template_part.end());
  }
  if (first) tokens[*first] = {{"id", *first}, {"ids", {first_id}}, {"tokens", {*first}}};
  if (last) tokens[*last] = {{"id", *last}, {"ids", {last_id}}, {"tokens", {*last}}};
  return {{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", tokens}};
}

json byte_level(bool splits) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", splits}};
}

json bpe(const Vocabulary& v, json merges) {
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", nullptr},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", false},
          {"byte_fallback", false},
          {"ignore_merges", false},
          {"vocab", vocabulary_json(v)},
          {"merges", std::move(merges)}};
}

/// Byte pairs over characters that stand for bytes: GPT-2 and its descendants.
json byte_pairs(const Metadata& metadata, const Vocabulary& v, const PreTokenizer& pre) {
  constexpr const char* kMerges = "tokenizer.ggml.merges";
  json merges = json::array();
  for (const std::string_view m : metadata.texts(kMerges)) {
    const std::size_t space = m.find(' ', 1);  // a piece is not empty
    if (space == std::string_view::npos || space + 1 == m.size() || !is_valid_text(m))
      metadata.refuse(kMerges, fmt::format("has '{}', which is not two pieces", printable(m.substr(0, 80))));
    merges.push_back({std::string(m.substr(0, space)), std::string(m.substr(space + 1))});
  }
  json model = bpe(v, std::move(merges));
  model["ignore_merges"] = pre.ignores_merges;
  json steps = json::array();
  if (pre.pattern != nullptr)
    steps.push_back(
        {{"type", "Split"}, {"pattern", {{"Regex", pre.pattern}}}, {"behavior", "Isolated"}, {"invert", false}});
  if (pre.separates_digits) steps.push_back({{"type", "Digits"}, {"individual_digits", true}});
  steps.push_back(byte_level(pre.pattern == nullptr));
  return {{"normalizer", pre.composes ? json{{"type", "NFC"}} : json(nullptr)},
          {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", steps}}},
          {"decoder", byte_level(true)},
          {"model", model}};
}

/// Every division of a token into two tokens, the pairs of the best tokens first: SentencePiece merges by the score of
/// the result.
json merges_of_scores(const Metadata& metadata, const Vocabulary& v) {
  constexpr const char* kScores = "tokenizer.ggml.scores";
  const std::vector<double> scores = metadata.numbers(kScores);
  if (scores.size() != v.tokens().size())
    metadata.refuse(kScores, fmt::format("must have a score for each of {} tokens", v.tokens().size()));
  struct Merge {
    double score;
    std::int64_t left, right;
  };
  std::vector<Merge> scored_merges;
  for (std::size_t i = 0; i < v.tokens().size(); ++i) {
    const std::string_view token = v.tokens()[i];
    const TokenType type = v.type(i);
    if (type != TokenType::normal && type != TokenType::user_defined) continue;
    std::vector<Merge> of_token;
    for (std::size_t index = 1; index < std::min<std::size_t>(token.size(), 512); ++index) {
      if ((static_cast<unsigned char>(token[index]) & 0xc0) == 0x80) continue;  // the middle of a character
      const auto left = v.find(token.substr(0, index)), right = v.find(token.substr(index));
      if (left && right) of_token.push_back({scores[i], *left, *right});
    }
    std::ranges::sort(of_token, {}, [](const Merge& m) { return std::pair(m.left, m.right); });
    scored_merges.insert(scored_merges.end(), of_token.begin(), of_token.end());
  }
  std::ranges::stable_sort(scored_merges, std::greater(), &Merge::score);
  json merges = json::array();
  for (const Merge& m : scored_merges) merges.push_back({v.text(m.left), v.text(m.right)});
  return merges;
}

/// Merges of SentencePiece, with bytes for unknown characters.
json sentence_pieces(const Metadata& metadata, const Vocabulary& v) {
  constexpr const char* kSpace = "▁";
  const bool prefix = metadata.boolean("tokenizer.ggml.add_space_prefix").value_or(true);
  json model = bpe(v, merges_of_scores(metadata, v));
  const std::optional<std::int64_t> unknown = v.id("tokenizer.ggml.unknown_token_id");
  if (unknown) model["unk_token"] = v.text(*unknown);
  model["fuse_unk"] = true;
  model["byte_fallback"] = v.find("<0x00>").has_value();
  const auto replace = [](const char* pattern, const char* content) {
    return json{{"type", "Replace"}, {"pattern", {{"String", pattern}}}, {"content", content}};
  };
  json normalizers = json::array();
  if (prefix) normalizers.push_back({{"type", "Prepend"}, {"prepend", kSpace}});
  normalizers.push_back(replace(" ", kSpace));
  json decoders = {replace(kSpace, " "), {{"type", "ByteFallback"}}, {{"type", "Fuse"}}};
  if (prefix) decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  return {{"normalizer", {{"type", "Sequence"}, {"normalizers", normalizers}}},
          {"pre_tokenizer", nullptr},
          {"decoder", {{"type", "Sequence"}, {"decoders", decoders}}},
          {"model", model}};
}

struct SpecialIds {
  std::optional<std::int64_t> bos, eos, unknown, padding;
  bool adds_bos = false, adds_eos = false;
};

std::string tokenizer_json(const Vocabulary& v, json components, const SpecialIds& ids) {
  const auto text = [&](bool is_added, const std::optional<std::int64_t>& id) {
    return is_added && id ? std::optional(v.text(*id)) : std::nullopt;
  };
  json tokenizer = {
      {"version", "1.0"}, {"truncation", nullptr}, {"padding", nullptr}, {"added_tokens", added_tokens(v)}};
  tokenizer.update(components);
  const json processor = post_processor(text(ids.adds_bos, ids.bos), ids.bos.value_or(0), text(ids.adds_eos, ids.eos),
                                        ids.eos.value_or(0));
  tokenizer["post_processor"] = processor;
  return tokenizer.dump();
}

std::string configuration_json(const Vocabulary& v, const SpecialIds& ids) {
  json config = {
      {"add_bos_token", ids.adds_bos}, {"add_eos_token", ids.adds_eos}, {"clean_up_tokenization_spaces", false}};
  const std::pair<const char*, const std::optional<std::int64_t>&> names[] = {
      {"bos_token", ids.bos}, {"eos_token", ids.eos}, {"unk_token", ids.unknown}, {"pad_token", ids.padding}};
  for (const auto& [name, id] : names) {
    if (id) config[name] = v.text(*id);
  }
  return config.dump(2);
}

/// Tokens that end an answer: those of the metadata, then control tokens with a usual name.
std::vector<std::int64_t> end_tokens(const Vocabulary& v) {
  std::vector<std::int64_t> token_ids;
  const auto add = [&](const std::optional<std::int64_t>& id) {
    if (id && std::ranges::find(token_ids, *id) == token_ids.end()) token_ids.push_back(*id);
  };
  for (const char* key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"})
    add(v.id(key));
  // gpt-oss ends each part of an answer by <|end|>, and the answer by <|return|>.
  const bool has_parts = v.find("<|return|>") && v.find("<|call|>");
  for (const std::string_view name : kEndTokens) {
    const auto id = v.find(name);
    if (id && v.type(static_cast<std::size_t>(*id)) == TokenType::control && !(has_parts && name == "<|end|>")) add(id);
  }
  if (has_parts) add(v.find("<|call|>"));
  return token_ids;
}

std::string generation_json(const Metadata& metadata, const TokenizerTexts& texts) {
  json config = json::object();
  if (texts.bos) config["bos_token_id"] = *texts.bos;
  if (!texts.eos.empty()) config["eos_token_id"] = texts.eos;
  const auto temperature = metadata.number("general.sampling.temp");
  if (temperature) config["temperature"] = *temperature;
  if (temperature) config["do_sample"] = *temperature > 0;
  if (const auto k = metadata.integer("general.sampling.top_k", 0, 1 << 30)) config["top_k"] = *k;
  if (const auto p = metadata.number("general.sampling.top_p")) config["top_p"] = *p;
  return config.empty() ? "" : config.dump(2);
}

}  // namespace

TokenizerTexts tokenizer_texts(const Metadata& metadata, std::int64_t vocabulary) {
  TokenizerTexts texts;
  const std::string model(metadata.text("tokenizer.ggml.model").value_or("none"));
  const Vocabulary v(metadata, vocabulary);
  const std::string pre_name(metadata.text("tokenizer.ggml.pre").value_or("default"));
  const PreTokenizer* const pre = find_pre_tokenizer(pre_name);
  const bool pairs = model == "gpt2", is_sentencepiece = model == "llama";
  SpecialIds ids{v.id("tokenizer.ggml.bos_token_id"), v.id("tokenizer.ggml.eos_token_id"),
                 v.id("tokenizer.ggml.unknown_token_id"), v.id("tokenizer.ggml.padding_token_id")};
  ids.adds_bos =
      metadata.boolean("tokenizer.ggml.add_bos_token").value_or(is_sentencepiece || (pre != nullptr && pre->adds_bos));
  ids.adds_eos = metadata.boolean("tokenizer.ggml.add_eos_token").value_or(false);
  texts.bos = ids.bos;
  texts.adds_bos = ids.adds_bos;
  texts.eos = end_tokens(v);
  texts.generation = generation_json(metadata, texts);
  const std::string_view chat = metadata.text("tokenizer.chat_template").value_or("");
  if (is_valid_text(chat)) texts.chat_template = chat;
  if (v.tokens().empty()) {
    texts.missing = "the file has no tokens";
  } else if (!v.all_utf8()) {
    texts.missing = "a token is not UTF-8";
  } else if (pairs && pre != nullptr) {
    texts.tokenizer = tokenizer_json(v, byte_pairs(metadata, v, *pre), ids);
  } else if (is_sentencepiece) {
    texts.tokenizer = tokenizer_json(v, sentence_pieces(metadata, v), ids);
  } else {
    texts.missing = pairs ? fmt::format("tokenizer.ggml.pre is '{}', which is not known", printable(pre_name))
                          : fmt::format("tokenizer.ggml.model is '{}'; gpt2 and llama are supported", printable(model));
  }
  if (texts.missing.empty()) texts.configuration = configuration_json(v, ids);
  return texts;
}

}  // namespace tern::gguf
