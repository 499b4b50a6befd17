// A tokenizer of Hugging Face: added tokens, normalizer, pre-tokenizer, model, post-processor, decoder.
#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "text/tokenizer/added_tokens.h"
#include "text/tokenizer/byte_level.h"
#include "text/tokenizer/decoder.h"
#include "text/tokenizer/fields.h"
#include "text/tokenizer/json_file.h"
#include "text/tokenizer/normalizer.h"
#include "text/tokenizer/post_processor.h"
#include "text/tokenizer/pre_tokenizer.h"
#include "text/tokenizer_impl.h"

namespace tern::text {
namespace {

const Json& optional_field(const Json& j, const char* name) {
  static const Json null;
  const auto found = j.find(name);
  return found == j.end() ? null : *found;
}

/// True if a decoder, or one inside a sequence, has this type.
bool has_decoder(const Json& j, std::string_view type) {
  if (!j.is_object()) return false;
  if (text_field(j, "type") == type) return true;
  const Json& decoders = optional_field(j, "decoders");
  return decoders.is_array() &&
         std::ranges::any_of(decoders, [&](const Json& decoder) { return has_decoder(decoder, type); });
}

class JsonTokenizer : public TokenizerImpl {
 public:
  explicit JsonTokenizer(TokenizerFile file)
      : is_byte_level_(has_decoder(optional_field(file.fields, "decoder"), "ByteLevel")),
        has_byte_tokens_(has_decoder(optional_field(file.fields, "decoder"), "ByteFallback")),
        normalizer_(make_normalizer(optional_field(file.fields, "normalizer"))),
        pre_tokenizer_(make_pre_tokenizer(optional_field(file.fields, "pre_tokenizer"))),
        model_(make_model(std::move(file.model))),
        frame_(make_frame(optional_field(file.fields, "post_processor"))),
        decoder_(make_decoder(optional_field(file.fields, "decoder"))) {
    if (has_field(file.fields, "added_tokens"))
      added_tokens_ = AddedTokens(array_field(file.fields, "added_tokens"), model_->vocabulary(), normalizer_.get());
    size_ = static_cast<std::int64_t>(model_->vocabulary().size());
    for (const AddedToken& t : added_tokens_.list()) size_ = std::max(size_, std::int64_t{t.id} + 1);
  }

  void encode(std::string_view text, const EncodeOptions& options, std::vector<std::int64_t>& ids) const override {
    if (options.add_special) ids.insert(ids.end(), frame_.prefix.begin(), frame_.prefix.end());
    const std::unique_ptr<ModelScratch> scratch = model_->make_scratch();
    std::vector<Section> sections, inner;
    added_tokens_.split(text, false, options.parse_special, sections);
    std::deque<std::string> normalized;  // lives as long as the words in `scratch`
    std::deque<Words> words;
    std::vector<TokenId> found;
    for (const Section& section : sections) {
      if (section.id != kNoToken) {
        ids.push_back(section.id);
        continue;
      }
      std::string& normalized_text = normalized.emplace_back(section.text);
      if (normalizer_ != nullptr) normalizer_->apply(normalized_text);
      inner.clear();
      added_tokens_.split(normalized_text, true, options.parse_special, inner);
      for (const Section& inner_section : inner) {
        if (inner_section.id != kNoToken) {
          ids.push_back(inner_section.id);
          continue;
        }
        Words& w = words.emplace_back();
        const bool is_first = section.text.data() == text.data() && inner_section.text.data() == normalized_text.data();
        w.list.push_back({inner_section.text, is_first});
        if (pre_tokenizer_ != nullptr) pre_tokenizer_->apply(w);
        found.clear();
        for (const Word& word : w.list) model_->encode(word.text, scratch.get(), found);
        ids.insert(ids.end(), found.begin(), found.end());
      }
    }
    if (options.add_special) ids.insert(ids.end(), frame_.suffix.begin(), frame_.suffix.end());
  }

  std::string decode(std::span<const std::int64_t> ids, bool skip_special) const override {
    std::vector<std::string> tokens;
    tokens.reserve(ids.size());
    for (const std::int64_t id : ids) {
      if (id > kMaxId) continue;
      const AddedToken* added_token = added_tokens_.find(static_cast<TokenId>(id));
      if (added_token != nullptr) {
        if (!skip_special || !added_token->is_special) tokens.push_back(added_token->decoded);
      } else if (const std::string* token = model_->vocabulary().token(static_cast<std::uint64_t>(id))) {
        tokens.push_back(*token);
      }
    }
    const char* separator = " ";
    if (decoder_ != nullptr) {
      decoder_->apply(tokens);
      separator = "";
    }
    std::string text;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (i > 0) text += separator;
      text += tokens[i];
    }
    return text;
  }

  std::int64_t size() const override { return size_; }

  std::optional<std::int64_t> find(std::string_view token) const override {
    if (const AddedToken* added_token = added_tokens_.find(token)) return added_token->id;
    const TokenId id = model_->vocabulary().find(token);
    return id == kNoToken ? std::nullopt : std::optional<std::int64_t>(id);
  }

  std::optional<TokenInfo> token(std::int64_t id) const override {
    if (id < 0 || id > kMaxId) return {};
    if (const AddedToken* added_token = added_tokens_.find(static_cast<TokenId>(id)))
      return TokenInfo{id, added_token->content, added_token->is_special};
    const std::string* text = model_->vocabulary().token(static_cast<std::uint64_t>(id));
    return text == nullptr ? std::nullopt : std::optional(TokenInfo{id, *text, false});
  }

  std::string bytes_of(std::int64_t id) const override {
    const std::optional<TokenInfo> info = token(id);
    if (!info || added_tokens_.find(static_cast<TokenId>(id)) != nullptr) return info ? info->text : std::string();
    if (has_byte_tokens_) {
      if (const auto byte = byte_of_token(info->text)) return std::string(1, static_cast<char>(*byte));
    }
    return is_byte_level_ ? bytes_of_characters(info->text) : info->text;
  }

  std::vector<TokenInfo> special_tokens() const override {
    std::vector<TokenInfo> list;
    for (const AddedToken& t : added_tokens_.list()) {
      if (t.is_special) list.push_back({t.id, t.content, true});
    }
    std::ranges::sort(list, {}, &TokenInfo::id);
    return list;
  }

 private:
  bool is_byte_level_, has_byte_tokens_;
  std::unique_ptr<Normalizer> normalizer_;
  std::unique_ptr<PreTokenizer> pre_tokenizer_;
  std::unique_ptr<TokenModel> model_;
  Frame frame_;
  std::unique_ptr<Decoder> decoder_;
  AddedTokens added_tokens_;
  std::int64_t size_ = 0;
};

}  // namespace

std::shared_ptr<TokenizerImpl> read_json_tokenizer(std::string_view text) {
  try {
    return std::make_shared<JsonTokenizer>(read_tokenizer_file(text));
  } catch (const nlohmann::json::exception& e) {  // a field of another type than fields.h checks
    fail(ErrorCode::bad_file, fmt::format("tokenizer.json is not a tokenizer of Hugging Face: {}", e.what()));
  }
}

}  // namespace tern::text
