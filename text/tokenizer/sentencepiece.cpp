// Tokenizers of SentencePiece models, over the library.
#include <fmt/format.h>
#include <sentencepiece_processor.h>
#include <tern/error.h>

#include <algorithm>

#include "text/tokenizer/added_tokens.h"
#include "text/tokenizer/byte_level.h"
#include "text/tokenizer_impl.h"
#include "text/unicode.h"

namespace tern::text {
namespace {

class SentencePiece : public TokenizerImpl {
 public:
  SentencePiece(std::string_view bytes, std::optional<bool> adds_bos, std::optional<bool> adds_eos) {
    const auto status = processor_.LoadFromSerializedProto({bytes.data(), bytes.size()});
    if (!status.ok())
      fail(ErrorCode::bad_file, "not a tokenizer.json, and not a SentencePiece model: " + status.ToString());
    size_ = processor_.GetPieceSize();
    std::vector<AddedToken> controls;
    for (int id = 0; id < size_; ++id) {
      if (!processor_.IsControl(id)) continue;
      AddedToken t;
      t.content = processor_.IdToPiece(id);
      t.id = static_cast<TokenId>(id);
      t.is_special = true;
      if (!t.content.empty()) controls.push_back(std::move(t));
    }
    controls_ = AddedTokens(std::move(controls));
    const auto id_or_none = [&](int id) {
      return id >= 0 && id < size_ ? std::optional<std::int64_t>(id) : std::nullopt;
    };
    bos = id_or_none(processor_.bos_id());
    eos = id_or_none(processor_.eos_id());
    adds_bos_ = adds_bos.value_or(true);
    adds_eos_ = adds_eos.value_or(false);
  }

  void encode(std::string_view text, const EncodeOptions& options, std::vector<std::int64_t>& ids) const override {
    if (options.add_special && adds_bos_ && bos) ids.push_back(*bos);
    std::vector<Section> sections;
    controls_.split(text, false, options.parse_special, sections);
    for (const Section& s : sections) {
      if (s.id != kNoToken) {
        ids.push_back(s.id);
        continue;
      }
      std::vector<int> found;
      const auto status = processor_.Encode({s.text.data(), s.text.size()}, &found);
      if (!status.ok()) fail(ErrorCode::runtime, "SentencePiece cannot encode the text: " + status.ToString());
      ids.insert(ids.end(), found.begin(), found.end());
    }
    if (options.add_special && adds_eos_ && eos) ids.push_back(*eos);
  }

  std::string decode(std::span<const std::int64_t> ids, bool skip_special) const override {
    std::string text;
    std::vector<int> run;
    const auto flush = [&] {
      if (run.empty()) return;
      std::string decoded;
      const auto status = processor_.Decode(run, &decoded);
      if (!status.ok()) fail(ErrorCode::runtime, "SentencePiece cannot decode the ids: " + status.ToString());
      text += decoded;
      run.clear();
    };
    for (const std::int64_t id : ids) {
      if (id >= size_) continue;
      const int piece_id = static_cast<int>(id);
      if (!processor_.IsControl(piece_id)) {
        run.push_back(piece_id);
      } else if (!skip_special) {
        flush();
        text += processor_.IdToPiece(piece_id);
      }
    }
    flush();
    return replace_invalid(text);
  }

  std::int64_t size() const override { return size_; }
  std::optional<std::int64_t> find(std::string_view token) const override {
    const int id = processor_.PieceToId({token.data(), token.size()});
    const bool is_known = id >= 0 && id < size_ && processor_.IdToPiece(id) == token;
    return is_known ? std::optional<std::int64_t>(id) : std::nullopt;
  }
  std::optional<TokenInfo> token(std::int64_t id) const override {
    if (id < 0 || id >= size_) return {};
    const int piece_id = static_cast<int>(id);
    return TokenInfo{id, processor_.IdToPiece(piece_id), processor_.IsControl(piece_id)};
  }
  std::string bytes_of(std::int64_t id) const override {
    if (id < 0 || id >= size_) return {};
    const std::string& piece = processor_.IdToPiece(static_cast<int>(id));
    const auto byte = processor_.IsByte(static_cast<int>(id)) ? byte_of_token(piece) : std::nullopt;
    return byte ? std::string(1, static_cast<char>(*byte)) : piece;
  }
  std::vector<TokenInfo> special_tokens() const override {
    std::vector<TokenInfo> list;
    for (const AddedToken& t : controls_.list()) list.push_back({t.id, t.content, true});
    return list;
  }

 private:
  sentencepiece::SentencePieceProcessor processor_;
  AddedTokens controls_;
  int size_ = 0;
  bool adds_bos_ = true, adds_eos_ = false;
};

}  // namespace

std::shared_ptr<TokenizerImpl> read_sentencepiece(std::string_view bytes, std::optional<bool> adds_bos,
                                                  std::optional<bool> adds_eos) {
  return std::make_shared<SentencePiece>(bytes, adds_bos, adds_eos);
}

}  // namespace tern::text
