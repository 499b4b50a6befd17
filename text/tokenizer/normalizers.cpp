#include <fmt/format.h>
#include <tern/error.h>

#include <optional>
#include <vector>

#include "text/tokenizer/byte_level.h"
#include "text/tokenizer/fields.h"
#include "text/tokenizer/normalizer.h"
#include "text/tokenizer/pattern.h"
#include "text/unicode.h"

namespace tern::text {

Regex make_pattern(const nlohmann::json& owner, const char* field) {
  const nlohmann::json& pattern = required_field(owner, field);
  if (has_field(pattern, "String")) return Regex::literal(text_field(pattern, "String"));
  if (has_field(pattern, "Regex")) return Regex::expression(text_field(pattern, "Regex"));
  fail(ErrorCode::bad_file, fmt::format("the tokenizer's field '{}' must hold a \"String\" or a \"Regex\"", field));
}

namespace {

constexpr int kMaxNormalizerDepth = 16;
constexpr std::size_t kMaxNormalized = std::size_t{256} << 20;  ///< bytes of a text after a replacement
constexpr std::size_t kMaxGrowth = 64;  ///< times that a normalizer may lengthen a text, beside 64 KiB

class NormalFormNormalizer : public Normalizer {
 public:
  explicit NormalFormNormalizer(NormalForm form) : form_(form) {}
  void apply(std::string& text) const override {
    if (!is_ascii(text)) text = normalize(text, form_);
  }

 private:
  NormalForm form_;
};

/// Normalizers that are one function.
class FunctionNormalizer : public Normalizer {
 public:
  explicit FunctionNormalizer(std::string (*function)(std::string_view)) : function_(function) {}
  void apply(std::string& text) const override { text = function_(text); }

 private:
  std::string (*function_)(std::string_view);
};

template <class Keep>
std::string filter_characters(std::string_view text, Keep is_kept) {
  std::string normalized;
  normalized.reserve(text.size());
  for (std::size_t byte_index = 0; byte_index < text.size();) {
    const Character c = character_at(text, byte_index);
    if (is_kept(c.code)) normalized += text.substr(byte_index, c.size);
    byte_index += c.size;
  }
  return normalized;
}

std::string strip_marks(std::string_view text) {
  return filter_characters(text, [](char32_t c) { return !is_mark(c); });
}

std::string strip_accents(std::string_view text) {
  return filter_characters(text, [](char32_t c) { return !is_nonspacing_mark(c); });
}

std::string byte_characters_of(std::string_view text) {
  std::string normalized;
  append_byte_characters(normalized, text);
  return normalized;
}

/// Rules of the NMT normalization of SentencePiece: drops controls, turns spaces of all kinds into one.
std::string nmt_normalize(std::string_view text) {
  std::string normalized;
  for (std::size_t byte_index = 0; byte_index < text.size();) {
    const Character c = character_at(text, byte_index);
    const char32_t u = c.code;
    const bool is_dropped =
        (u >= 0x01 && u <= 0x08) || u == 0x0b || (u >= 0x0e && u <= 0x1f) || u == 0x7f || u == 0x8f || u == 0x9f;
    const bool is_space = u == 0x09 || u == 0x0a || u == 0x0c || u == 0x0d || u == 0x1680 ||
                          (u >= 0x200b && u <= 0x200f) || u == 0x2028 || u == 0x2029 || u == 0x2581 || u == 0xfeff ||
                          u == 0xfffd;
    if (is_space) {
      normalized += ' ';
    } else if (!is_dropped) {
      normalized += text.substr(byte_index, c.size);
    }
    byte_index += c.size;
  }
  return normalized;
}

class BertNormalizer : public Normalizer {
 public:
  explicit BertNormalizer(const nlohmann::json& j)
      : clean_(bool_field(j, "clean_text", true)),
        space_chinese_(bool_field(j, "handle_chinese_chars", true)),
        lowers_case_(bool_field(j, "lowercase", true)),
        strip_accents_(bool_field(j, "strip_accents", lowers_case_)) {}
  void apply(std::string& text) const override {
    if (clean_) text = clean(text);
    if (space_chinese_) text = space_chinese(text);
    if (strip_accents_) text = strip_accents(normalize(text, NormalForm::nfd));
    if (lowers_case_) text = lower_case(text);
  }

 private:
  static std::string clean(std::string_view text) {
    std::string normalized;
    for (std::size_t byte_index = 0; byte_index < text.size();) {
      const Character c = character_at(text, byte_index);
      const bool is_gap = c.code == '\t' || c.code == '\n' || c.code == '\r';
      const bool is_dropped = c.code == 0 || c.code == 0xfffd || (!is_gap && is_other(c.code));
      if (!is_dropped && is_white_space(c.code)) {
        normalized += ' ';
      } else if (!is_dropped) {
        normalized += text.substr(byte_index, c.size);
      }
      byte_index += c.size;
    }
    return normalized;
  }
  static bool is_chinese(char32_t c) {
    return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) || (c >= 0x20000 && c <= 0x2a6df) ||
           (c >= 0x2a700 && c <= 0x2b73f) || (c >= 0x2b740 && c <= 0x2b81f) || (c >= 0x2b920 && c <= 0x2ceaf) ||
           (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f);
  }
  static std::string space_chinese(std::string_view text) {
    std::string normalized;
    for (std::size_t byte_index = 0; byte_index < text.size();) {
      const Character c = character_at(text, byte_index);
      if (is_chinese(c.code)) {
        normalized += ' ';
        normalized += text.substr(byte_index, c.size);
        normalized += ' ';
      } else {
        normalized += text.substr(byte_index, c.size);
      }
      byte_index += c.size;
    }
    return normalized;
  }
  bool clean_, space_chinese_, lowers_case_, strip_accents_;
};

class ReplaceNormalizer : public Normalizer {
 public:
  explicit ReplaceNormalizer(const nlohmann::json& j)
      : pattern_(make_pattern(j, "pattern")), content_(text_field(j, "content")) {}
  void apply(std::string& text) const override {
    thread_local std::vector<ByteRange> matches;
    pattern_.find_all(text, matches);
    if (matches.empty()) return;
    const std::size_t added_bytes = matches.size() * content_.size();
    if (added_bytes > kMaxNormalized || added_bytes > kMaxGrowth * text.size() + (1u << 16))
      fail(ErrorCode::bad_file, "a normalizer of the tokenizer makes the text too long");
    text = replace_matches(text, matches, content_);
  }

 private:
  Regex pattern_;
  std::string content_;
};

class PrependNormalizer : public Normalizer {
 public:
  explicit PrependNormalizer(std::string text) : text_(std::move(text)) {}
  void apply(std::string& text) const override {
    if (!text.empty()) text.insert(0, text_);
  }

 private:
  std::string text_;
};

class StripNormalizer : public Normalizer {
 public:
  StripNormalizer(bool left, bool right) : strips_left_(left), strips_right_(right) {}
  void apply(std::string& text) const override {
    std::string_view s = text;
    while (strips_left_ && !s.empty() && is_white_space(character_at(s, 0).code))
      s.remove_prefix(character_at(s, 0).size);
    while (strips_right_ && !s.empty() && is_white_space(last_character(s).code))
      s.remove_suffix(last_character(s).size);
    text = std::string(s);
  }

 private:
  bool strips_left_, strips_right_;
};

class NormalizerSequence : public Normalizer {
 public:
  explicit NormalizerSequence(std::vector<std::unique_ptr<Normalizer>> normalizers)
      : normalizers_(std::move(normalizers)) {}
  void apply(std::string& text) const override {
    const std::size_t limit = kMaxGrowth * text.size() + (1u << 16);
    for (const auto& normalizer : normalizers_) {
      normalizer->apply(text);
      if (text.size() > limit) fail(ErrorCode::bad_file, "the normalizers of the tokenizer make the text too long");
    }
  }

 private:
  std::vector<std::unique_ptr<Normalizer>> normalizers_;
};

}  // namespace

std::unique_ptr<Normalizer> make_normalizer(const nlohmann::json& j, int depth) {
  if (j.is_null()) return nullptr;
  if (depth > kMaxNormalizerDepth) fail(ErrorCode::bad_file, "the normalizers of the tokenizer nest too deep");
  const std::string type = text_field(j, "type");
  const auto function = [](auto f) { return std::make_unique<FunctionNormalizer>(f); };
  const auto form = [](NormalForm f) { return std::make_unique<NormalFormNormalizer>(f); };
  if (type == "NFC") return form(NormalForm::nfc);
  if (type == "NFD") return form(NormalForm::nfd);
  if (type == "NFKC") return form(NormalForm::nfkc);
  if (type == "NFKD") return form(NormalForm::nfkd);
  if (type == "Lowercase") return function(lower_case);
  if (type == "StripAccents") return function(strip_marks);
  if (type == "Nmt") return function(nmt_normalize);
  if (type == "ByteLevel") return function(byte_characters_of);
  if (type == "BertNormalizer") return std::make_unique<BertNormalizer>(j);
  if (type == "Replace") return std::make_unique<ReplaceNormalizer>(j);
  if (type == "Prepend") return std::make_unique<PrependNormalizer>(text_field(j, "prepend"));
  if (type == "Strip")
    return std::make_unique<StripNormalizer>(bool_field(j, "strip_left", true), bool_field(j, "strip_right", true));
  if (type == "Precompiled") {
    const std::string map = text_field(j, "precompiled_charsmap");
    return map.empty() ? nullptr : make_charsmap(map);
  }
  if (type == "Sequence") {
    std::vector<std::unique_ptr<Normalizer>> normalizers;
    for (const auto& normalizer_json : array_field(j, "normalizers")) {
      if (auto normalizer = make_normalizer(normalizer_json, depth + 1)) normalizers.push_back(std::move(normalizer));
    }
    return std::make_unique<NormalizerSequence>(std::move(normalizers));
  }
  fail(ErrorCode::unsupported, fmt::format("the tokenizer has a normalizer of type '{}', which is not known", type));
}

}  // namespace tern::text
