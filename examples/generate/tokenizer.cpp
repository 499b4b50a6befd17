#include "tokenizer.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>

#ifdef HAVE_SENTENCEPIECE
#include <sentencepiece_processor.h>
#endif

namespace {

class Bytes : public Tokenizer {
 public:
  std::vector<std::int64_t> encode(const std::string& text) const override {
    std::vector<std::int64_t> tokens;
    for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
    return tokens;
  }
  std::string decode(std::span<const std::int64_t> tokens) const override {
    std::string text;
    for (const std::int64_t t : tokens) text += static_cast<char>(t & 0xff);
    return text;
  }
};

class Ids : public Tokenizer {
 public:
  std::vector<std::int64_t> encode(const std::string& text) const override {
    std::vector<std::int64_t> tokens;
    const char *at = text.data(), *end = at + text.size();
    while (at < end) {
      if (*at == ',' || *at == ' ') {
        ++at;
        continue;
      }
      std::int64_t id = 0;
      const auto [next, error] = std::from_chars(at, end, id);
      if (error != std::errc())
        throw std::runtime_error("'" + text + "' is no list of token ids such as 1,15,27; text needs --tokenizer FILE");
      tokens.push_back(id);
      at = next;
    }
    return tokens;
  }
  std::string decode(std::span<const std::int64_t> tokens) const override {
    std::string text;
    for (const std::int64_t t : tokens) text += std::to_string(t) + " ";
    return text;
  }
};

#ifdef HAVE_SENTENCEPIECE
class SentencePiece : public Tokenizer {
 public:
  explicit SentencePiece(const std::string& path) {
    const auto status = processor_.Load(path);
    if (!status.ok()) throw std::runtime_error(path + " is no SentencePiece model: " + status.ToString());
  }
  std::vector<std::int64_t> encode(const std::string& text) const override {
    std::vector<int> ids;
    const auto status = processor_.Encode(text, &ids);
    if (!status.ok()) throw std::runtime_error("cannot encode the prompt: " + status.ToString());
    return {ids.begin(), ids.end()};
  }
  std::string decode(std::span<const std::int64_t> tokens) const override {
    std::vector<int> ids;
    // An archive's vocabulary may be larger than its tokenizer's: padding of the embedding.
    for (const std::int64_t t : tokens)
      ids.push_back(t >= 0 && t < processor_.GetPieceSize() ? static_cast<int>(t) : processor_.unk_id());
    std::string text;
    const auto status = processor_.Decode(ids, &text);
    return status.ok() ? text : std::string();
  }

 private:
  sentencepiece::SentencePieceProcessor processor_;
};
#endif

bool is_cut(const std::string& text) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // SentencePiece's text for an incomplete character
  if (text.ends_with(kReplacement)) return true;
  std::size_t tail = 0;  // bytes 10xxxxxx at the end
  while (tail < text.size() && tail < 4 && (static_cast<unsigned char>(text[text.size() - 1 - tail]) & 0xC0) == 0x80)
    ++tail;
  if (tail >= text.size()) return tail > 0;
  const auto lead = static_cast<unsigned char>(text[text.size() - 1 - tail]);
  const std::size_t trailing_bytes = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC0 ? 1 : 0;
  return tail < trailing_bytes;
}

constexpr std::size_t kContextTokens = 4;  ///< number of preceding tokens affecting the decoding of the next

}  // namespace

std::unique_ptr<Tokenizer> sentencepiece_tokenizer(const std::string& path) {
#ifdef HAVE_SENTENCEPIECE
  return std::make_unique<SentencePiece>(path);
#else
  throw std::runtime_error(
      path + ": this program was built without SentencePiece; install libsentencepiece-dev, or give token ids");
#endif
}

std::unique_ptr<Tokenizer> byte_tokenizer() {
  return std::make_unique<Bytes>();
}

std::unique_ptr<Tokenizer> id_tokenizer() {
  return std::make_unique<Ids>();
}

TextStream::TextStream(const Tokenizer& tokenizer, std::span<const std::int64_t> context)
    : tokenizer_(tokenizer), tokens_(context.last(std::min(kContextTokens, context.size())).begin(), context.end()) {
  shown_ = tokenizer_.decode(tokens_);
}

std::string TextStream::add(std::int64_t token) {
  tokens_.push_back(token);
  const std::string text = tokenizer_.decode(tokens_);
  if (is_cut(text) && tokens_.size() < 4 * kContextTokens) return {};
  return take_new_text(text);
}

std::string TextStream::pending_text() {
  return take_new_text(tokenizer_.decode(tokens_));
}

std::string TextStream::take_new_text(const std::string& text) {
  std::string added = text.size() > shown_.size() ? text.substr(shown_.size()) : std::string();
  if (tokens_.size() > kContextTokens)
    tokens_.erase(tokens_.begin(), tokens_.end() - static_cast<std::ptrdiff_t>(kContextTokens));
  shown_ = tokenizer_.decode(tokens_);
  return added;
}
