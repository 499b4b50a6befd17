#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "text/regex.h"
#include "text/tokenizer/byte_level.h"
#include "text/tokenizer/decoder.h"
#include "text/tokenizer/fields.h"
#include "text/tokenizer/metaspace.h"
#include "text/tokenizer/pattern.h"
#include "text/unicode.h"

namespace tern::text {
namespace {

constexpr int kMaxDecoderDepth = 16;
constexpr std::size_t kMaxDecoderContent = 1024;  ///< bytes of a text that a decoder puts in

std::string replace_all(std::string_view text, std::string_view pattern, std::string_view content) {
  if (pattern.empty()) return std::string(text);
  std::string replaced;
  for (std::size_t position = 0;;) {
    const std::size_t found = text.find(pattern, position);
    replaced += text.substr(position, found - position);
    if (found == std::string_view::npos) return replaced;
    replaced += content;
    position = found + pattern.size();
  }
}

/// Removes spaces of English text before punctuation and contractions.
std::string clean_up(std::string text) {
  static constexpr std::pair<std::string_view, std::string_view> kPairs[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kPairs) text = replace_all(text, from, to);
  return text;
}

std::string short_text(const nlohmann::json& j, const char* name, std::string_view absent = {}) {
  std::string text = text_field(j, name, absent);
  if (text.size() > kMaxDecoderContent)
    fail(ErrorCode::bad_file, fmt::format("the tokenizer's field '{}' has {} bytes; at most {} are allowed", name,
                                          text.size(), kMaxDecoderContent));
  return text;
}

class ByteLevelDecoder : public Decoder {
 public:
  void apply(std::vector<std::string>& tokens) const override {
    std::string bytes;
    for (const std::string& t : tokens) bytes += bytes_of_characters(t);
    tokens = {replace_invalid(bytes)};
  }
};

class ByteFallbackDecoder : public Decoder {
 public:
  void apply(std::vector<std::string>& tokens) const override {
    std::vector<std::string> pieces_out;
    std::string bytes;
    const auto flush = [&] {
      if (bytes.empty()) return;
      if (valid_size(bytes) == bytes.size()) {
        pieces_out.push_back(bytes);
      } else {
        for (std::size_t i = 0; i < bytes.size(); ++i) pieces_out.emplace_back("\uFFFD");
      }
      bytes.clear();
    };
    for (std::string& t : tokens) {
      if (const auto byte = byte_of_token(t)) {
        bytes += static_cast<char>(*byte);
      } else {
        flush();
        pieces_out.push_back(std::move(t));
      }
    }
    flush();
    tokens = std::move(pieces_out);
  }
};

class FuseDecoder : public Decoder {
 public:
  void apply(std::vector<std::string>& tokens) const override {
    std::string joined;
    for (const std::string& t : tokens) joined += t;
    tokens = {std::move(joined)};
  }
};

class MetaspaceDecoder : public Decoder {
 public:
  explicit MetaspaceDecoder(const nlohmann::json& j) : m_(j) {}
  void apply(std::vector<std::string>& tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const bool drops = i == 0 && m_.prepend != Metaspace::Prepend::never;
      tokens[i] = replace_all(tokens[i], m_.replacement, drops ? "" : " ");
    }
  }

 private:
  Metaspace m_;
};

class ReplaceDecoder : public Decoder {
 public:
  explicit ReplaceDecoder(const nlohmann::json& j)
      : pattern_(make_pattern(j, "pattern")), content_(short_text(j, "content")) {}
  void apply(std::vector<std::string>& tokens) const override {
    std::vector<ByteRange> matches;
    for (std::string& t : tokens) {
      pattern_.find_all(t, matches);
      if (!matches.empty()) t = replace_matches(t, matches, content_);
    }
  }

 private:
  Regex pattern_;
  std::string content_;
};

class StripDecoder : public Decoder {
 public:
  explicit StripDecoder(const nlohmann::json& j)
      : content_(text_field(j, "content")), start_(integer_field(j, "start", 0)), stop_(integer_field(j, "stop", 0)) {}
  void apply(std::vector<std::string>& tokens) const override {
    if (content_.empty()) return;
    for (std::string& t : tokens) {
      std::string_view s = t;
      for (std::int64_t i = 0; i < start_ && s.starts_with(content_); ++i) s.remove_prefix(content_.size());
      for (std::int64_t i = 0; i < stop_ && s.ends_with(content_); ++i) s.remove_suffix(content_.size());
      t = std::string(s);
    }
  }

 private:
  std::string content_;
  std::int64_t start_, stop_;
};

class WordPieceDecoder : public Decoder {
 public:
  explicit WordPieceDecoder(const nlohmann::json& j)
      : prefix_(text_field(j, "prefix", "##")), cleans_(bool_field(j, "cleanup", true)) {}
  void apply(std::vector<std::string>& tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (i > 0 && tokens[i].starts_with(prefix_)) {
        tokens[i].erase(0, prefix_.size());
      } else if (i > 0) {
        tokens[i].insert(0, 1, ' ');
      }
      if (cleans_) tokens[i] = clean_up(std::move(tokens[i]));
    }
  }

 private:
  std::string prefix_;
  bool cleans_;
};

class BpeDecoder : public Decoder {
 public:
  explicit BpeDecoder(const nlohmann::json& j) : suffix_(text_field(j, "suffix", "</w>")) {}
  void apply(std::vector<std::string>& tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i)
      tokens[i] = replace_all(tokens[i], suffix_, i + 1 == tokens.size() ? "" : " ");
  }

 private:
  std::string suffix_;
};

/// Connectionist temporal classification: repeated tokens count once.
class CtcDecoder : public Decoder {
 public:
  explicit CtcDecoder(const nlohmann::json& j)
      : pad_(text_field(j, "pad_token", "<pad>")),
        delimiter_(text_field(j, "word_delimiter_token", "|")),
        cleans_(bool_field(j, "cleanup", true)) {}
  void apply(std::vector<std::string>& tokens) const override {
    tokens.erase(std::ranges::unique(tokens).begin(), tokens.end());
    for (std::string& t : tokens) {
      t = replace_all(t, pad_, "");
      if (cleans_) t = replace_all(clean_up(std::move(t)), delimiter_, " ");
    }
    std::erase_if(tokens, [](const std::string& t) { return t.empty(); });
  }

 private:
  std::string pad_, delimiter_;
  bool cleans_;
};

class DecoderSequence : public Decoder {
 public:
  explicit DecoderSequence(std::vector<std::unique_ptr<Decoder>> decoders) : decoders_(std::move(decoders)) {}
  void apply(std::vector<std::string>& tokens) const override {
    std::size_t size = 1 << 16;
    for (const std::string& t : tokens) size += 64 * t.size();
    for (const auto& decoder : decoders_) {
      decoder->apply(tokens);
      std::size_t new_size = 0;
      for (const std::string& t : tokens) new_size += t.size();
      if (new_size > size) fail(ErrorCode::bad_file, "the decoders of the tokenizer make the text too long");
    }
  }

 private:
  std::vector<std::unique_ptr<Decoder>> decoders_;
};

}  // namespace

std::unique_ptr<Decoder> make_decoder(const nlohmann::json& j, int depth) {
  if (j.is_null()) return nullptr;
  if (depth > kMaxDecoderDepth) fail(ErrorCode::bad_file, "the decoders of the tokenizer nest too deep");
  const std::string type = text_field(j, "type");
  if (type == "ByteLevel") return std::make_unique<ByteLevelDecoder>();
  if (type == "ByteFallback") return std::make_unique<ByteFallbackDecoder>();
  if (type == "Fuse") return std::make_unique<FuseDecoder>();
  if (type == "Metaspace") return std::make_unique<MetaspaceDecoder>(j);
  if (type == "Replace") return std::make_unique<ReplaceDecoder>(j);
  if (type == "Strip") return std::make_unique<StripDecoder>(j);
  if (type == "WordPiece") return std::make_unique<WordPieceDecoder>(j);
  if (type == "BPEDecoder") return std::make_unique<BpeDecoder>(j);
  if (type == "CTC") return std::make_unique<CtcDecoder>(j);
  if (type == "Sequence") {
    std::vector<std::unique_ptr<Decoder>> decoders;
    for (const auto& decoder_json : array_field(j, "decoders")) {
      if (auto decoder = make_decoder(decoder_json, depth + 1)) decoders.push_back(std::move(decoder));
    }
    return std::make_unique<DecoderSequence>(std::move(decoders));
  }
  fail(ErrorCode::unsupported, fmt::format("the tokenizer has a decoder of type '{}', which is not known", type));
}

}  // namespace tern::text
