#include <fmt/format.h>
#include <tern/error.h>

#include <utility>

#include "text/tokenizer/byte_level.h"
#include "text/tokenizer/fields.h"
#include "text/tokenizer/metaspace.h"
#include "text/tokenizer/pattern.h"
#include "text/tokenizer/pre_tokenizer.h"
#include "text/tokenizer/scripts.h"
#include "text/tokenizer/split.h"
#include "text/unicode.h"

namespace tern::text {

Metaspace::Metaspace(const nlohmann::json& j)
    : replacement(text_field(j, "replacement", "\u2581")), splits(bool_field(j, "split", true)) {
  const std::string scheme =
      text_field(j, "prepend_scheme", bool_field(j, "add_prefix_space", true) ? "always" : "never");
  if (scheme != "always" && scheme != "first" && scheme != "never")
    fail(ErrorCode::bad_file,
         fmt::format("the tokenizer has a Metaspace with prepend_scheme '{}', which is not known", scheme));
  prepend = scheme == "always" ? Prepend::always : scheme == "first" ? Prepend::first : Prepend::never;
}

namespace {

constexpr int kMaxPreTokenizerDepth = 16;
constexpr std::string_view kByteLevelPattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kWordPattern =  // \w as in Rust's regular expressions
    R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200c}\x{200d}]+|[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200c}\x{200d}\s]+)";

/// Splits at matches of an expression.
class RegexSplit : public PreTokenizer {
 public:
  RegexSplit(Regex pattern, Delimiter delimiter, bool invert)
      : pattern_(std::move(pattern)), delimiter_(delimiter), invert_(invert) {}
  void apply(Words& words) const override {
    const std::vector<Word> old_words = std::exchange(words.list, {});
    std::vector<ByteRange> matches;
    for (const Word& w : old_words) {
      pattern_.find_all(w.text, matches);
      split_word(w, matches, delimiter_, invert_, words.list);
    }
  }

 private:
  Regex pattern_;
  Delimiter delimiter_;
  bool invert_;
};

/// Splits at characters.
class CharacterSplit : public PreTokenizer {
 public:
  CharacterSplit(bool (*is_match)(char32_t, char32_t), Delimiter delimiter, char32_t character = 0)
      : is_match_(is_match), delimiter_(delimiter), character_(character) {}
  void apply(Words& words) const override {
    const std::vector<Word> old_words = std::exchange(words.list, {});
    std::vector<ByteRange> matches;
    for (const Word& w : old_words) {
      matches.clear();
      for (std::size_t byte_index = 0; byte_index < w.text.size();) {
        const Character c = character_at(w.text, byte_index);
        if (is_match_(c.code, character_)) matches.push_back({byte_index, byte_index + c.size});
        byte_index += c.size;
      }
      split_word(w, matches, delimiter_, false, words.list);
    }
  }

 private:
  bool (*is_match_)(char32_t, char32_t);
  Delimiter delimiter_;
  char32_t character_;
};

bool matches_space(char32_t c, char32_t) {
  return is_white_space(c);
}
bool matches_punctuation(char32_t c, char32_t) {
  return is_punctuation(c);
}
bool matches_number(char32_t c, char32_t) {
  return is_numeric(c);
}
bool matches_character(char32_t c, char32_t character) {
  return c == character;
}

class ByteLevelPreTokenizer : public PreTokenizer {
 public:
  explicit ByteLevelPreTokenizer(const nlohmann::json& j) : adds_space_(bool_field(j, "add_prefix_space", true)) {
    if (bool_field(j, "use_regex", true))
      regex_split_ = std::make_unique<RegexSplit>(Regex::expression(kByteLevelPattern), Delimiter::isolated, false);
  }
  void apply(Words& words) const override {
    if (adds_space_) {
      for (Word& w : words.list) {
        if (w.text.starts_with(' ')) continue;
        w.text = words.texts.emplace_back(" " + std::string(w.text));
      }
    }
    if (regex_split_ != nullptr) regex_split_->apply(words);
    std::size_t size = 0;
    for (const Word& w : words.list) size += w.text.size();
    std::string& characters = words.texts.emplace_back();
    characters.reserve(2 * size);  // a byte has a character of at most two bytes: the views stay valid
    for (Word& w : words.list) {
      const std::size_t begin = characters.size();
      append_byte_characters(characters, w.text);
      w.text = std::string_view(characters).substr(begin);
    }
  }

 private:
  bool adds_space_;
  std::unique_ptr<RegexSplit> regex_split_;
};

class MetaspacePreTokenizer : public PreTokenizer {
 public:
  explicit MetaspacePreTokenizer(const nlohmann::json& j) : m_(j) {}
  void apply(Words& words) const override {
    const std::vector<Word> old_words = std::exchange(words.list, {});
    const Regex delimiter = Regex::literal(m_.replacement);
    std::vector<ByteRange> matches;
    for (const Word& w : old_words) {
      std::string& text = words.texts.emplace_back();
      for (const char c : w.text) {
        if (c == ' ') {
          text += m_.replacement;
        } else {
          text += c;
        }
      }
      const bool needs_prefix =
          m_.prepend == Metaspace::Prepend::always || (m_.prepend == Metaspace::Prepend::first && w.is_first);
      if (needs_prefix && !text.starts_with(m_.replacement)) text.insert(0, m_.replacement);
      const Word prefixed_word{text, w.is_first};
      if (m_.splits) {
        delimiter.find_all(text, matches);
        split_word(prefixed_word, matches, Delimiter::merged_with_next, false, words.list);
      } else if (!text.empty()) {
        words.list.push_back(prefixed_word);
      }
    }
  }

 private:
  Metaspace m_;
};

class ScriptSplit : public PreTokenizer {
 public:
  void apply(Words& words) const override {
    const std::vector<Word> old_words = std::exchange(words.list, {});
    for (const Word& w : old_words) {
      std::size_t begin = w.text.size();  // begin of the current script; spaces before the first script are dropped
      int last = kAnyScript;
      for (std::size_t byte_index = 0; byte_index < w.text.size();) {
        const Character c = character_at(w.text, byte_index);
        const int script = script_of(c.code);
        if (script != kAnyScript && script != last) {
          if (begin < byte_index)
            words.list.push_back({w.text.substr(begin, byte_index - begin), w.is_first && begin == 0});
          begin = byte_index;
          last = script;
        }
        byte_index += c.size;
      }
      if (begin < w.text.size()) words.list.push_back({w.text.substr(begin), w.is_first && begin == 0});
    }
  }
};

class PreTokenizerSequence : public PreTokenizer {
 public:
  explicit PreTokenizerSequence(std::vector<std::unique_ptr<PreTokenizer>> pre_tokenizers)
      : pre_tokenizers_(std::move(pre_tokenizers)) {}
  void apply(Words& words) const override {
    for (const auto& pre_tokenizer : pre_tokenizers_) pre_tokenizer->apply(words);
  }

 private:
  std::vector<std::unique_ptr<PreTokenizer>> pre_tokenizers_;
};

}  // namespace

std::unique_ptr<PreTokenizer> make_pre_tokenizer(const nlohmann::json& j, int depth) {
  if (j.is_null()) return nullptr;
  if (depth > kMaxPreTokenizerDepth) fail(ErrorCode::bad_file, "the pre-tokenizers of the tokenizer nest too deep");
  const std::string type = text_field(j, "type");
  const auto sequence = [](auto... all) {
    std::vector<std::unique_ptr<PreTokenizer>> list;
    (list.push_back(std::move(all)), ...);
    return std::make_unique<PreTokenizerSequence>(std::move(list));
  };
  if (type == "ByteLevel") return std::make_unique<ByteLevelPreTokenizer>(j);
  if (type == "Metaspace") return std::make_unique<MetaspacePreTokenizer>(j);
  if (type == "Split")
    return std::make_unique<RegexSplit>(make_pattern(j, "pattern"), delimiter_of(text_field(j, "behavior", "Isolated")),
                                        bool_field(j, "invert", false));
  if (type == "Whitespace")
    return std::make_unique<RegexSplit>(Regex::expression(kWordPattern), Delimiter::removed, true);
  if (type == "WhitespaceSplit") return std::make_unique<CharacterSplit>(matches_space, Delimiter::removed);
  if (type == "BertPreTokenizer")
    return sequence(std::make_unique<CharacterSplit>(matches_space, Delimiter::removed),
                    std::make_unique<CharacterSplit>(matches_punctuation, Delimiter::isolated));
  if (type == "Digits")
    return std::make_unique<CharacterSplit>(
        matches_number, bool_field(j, "individual_digits", false) ? Delimiter::isolated : Delimiter::contiguous);
  if (type == "Punctuation")
    return std::make_unique<CharacterSplit>(matches_punctuation, delimiter_of(text_field(j, "behavior", "Isolated")));
  if (type == "CharDelimiterSplit") {
    const std::string delimiter = text_field(j, "delimiter");
    if (delimiter.empty()) fail(ErrorCode::bad_file, "the tokenizer has a CharDelimiterSplit without a delimiter");
    return std::make_unique<CharacterSplit>(matches_character, Delimiter::removed, character_at(delimiter, 0).code);
  }
  if (type == "UnicodeScripts") return std::make_unique<ScriptSplit>();
  if (type == "Sequence") {
    std::vector<std::unique_ptr<PreTokenizer>> pre_tokenizers;
    for (const auto& pre_tokenizer_json : array_field(j, "pretokenizers")) {
      if (auto pre_tokenizer = make_pre_tokenizer(pre_tokenizer_json, depth + 1))
        pre_tokenizers.push_back(std::move(pre_tokenizer));
    }
    return std::make_unique<PreTokenizerSequence>(std::move(pre_tokenizers));
  }
  fail(ErrorCode::unsupported, fmt::format("the tokenizer has a pre-tokenizer of type '{}', which is not known", type));
}

}  // namespace tern::text
