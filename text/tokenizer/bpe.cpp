// Byte-pair encoding: a word begins as characters, and the pair with the lowest rank merges until none is left.
#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <array>
#include <utility>

#include "text/tokenizer/fields.h"
#include "text/tokenizer/model.h"
#include "text/tokenizer/pair_map.h"
#include "text/unicode.h"

namespace tern::text {
namespace {

constexpr std::size_t kCachedWord = 64;  ///< bytes of the longest cached word
constexpr std::size_t kCacheSlots = 1 << 12;

struct BpeSymbol {
  TokenId id = 0;
  std::int32_t previous = -1, next = -1;
  bool is_merged = false;  ///< part of an earlier symbol
};

struct BpeMerge {
  std::uint32_t rank = 0;
  std::int32_t position = 0;
  TokenId id = 0;
  /// Order of a heap with the lowest rank, then the leftmost position, on top.
  friend bool operator<(const BpeMerge& a, const BpeMerge& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.position > b.position;
  }
};

/// Memory for words, and the ids of words seen in this call of encode().
struct BpeScratch : ModelScratch {
  struct Slot {
    std::string_view word;
    std::uint32_t begin = 0, count = 0;  ///< in `cached`
  };
  std::vector<BpeSymbol> symbols;
  std::vector<BpeMerge> heap;
  std::vector<Slot> slots;
  std::vector<TokenId> cached;
};

class Bpe : public TokenModel {
 public:
  explicit Bpe(ModelFields model)
      : prefix_(text_field(model.fields, "continuing_subword_prefix")),
        suffix_(text_field(model.fields, "end_of_word_suffix")),
        byte_fallback_(bool_field(model.fields, "byte_fallback", false)),
        fuse_unknown_(bool_field(model.fields, "fuse_unk", false)),
        ignore_merges_(bool_field(model.fields, "ignore_merges", false)) {
    for (auto& [token, id] : model.vocabulary) vocabulary_.add(std::move(token), id);
    if (has_field(model.fields, "unk_token")) {
      unknown_text_ = text_field(model.fields, "unk_token");
      unknown_ = vocabulary_.find(unknown_text_);
      has_unknown_ = true;
    }
    merges_.reserve(model.merges.size());
    for (std::size_t rank = 0; rank < model.merges.size(); ++rank) {
      const auto& [left, right] = model.merges[rank];
      const auto id_of = [&](const std::string& token) {
        const TokenId id = vocabulary_.find(token);
        if (id == kNoToken)
          fail(ErrorCode::bad_file,
               fmt::format("merge {} of the tokenizer reads '{}', which is not in the vocabulary", rank, token));
        return id;
      };
      const std::string_view right_text(right);
      const std::string merged =
          left + std::string(!prefix_.empty() && right_text.size() >= prefix_.size() ? right_text.substr(prefix_.size())
                                                                                     : right_text);
      merges_.set(id_of(left), id_of(right), {static_cast<std::uint32_t>(rank), id_of(merged)});
    }
    if (byte_fallback_) bytes_ = byte_tokens(vocabulary_);
    characters_.resize(kDirectCharacters, kNoToken);
    std::string text;
    for (char32_t c = 0; c < kDirectCharacters; ++c) {
      if (c >= 0xd800 && c <= 0xdfff) continue;
      text.clear();
      append_character(text, c);
      characters_[c] = vocabulary_.find(text);
    }
  }

  std::unique_ptr<ModelScratch> make_scratch() const override {
    auto scratch = std::make_unique<BpeScratch>();
    scratch->slots.resize(kCacheSlots);
    return scratch;
  }

  void encode(std::string_view word, ModelScratch* scratch, std::vector<TokenId>& ids) const override {
    if (word.empty()) return;
    auto& s = static_cast<BpeScratch&>(*scratch);
    if (ignore_merges_) {
      if (const TokenId word_id = vocabulary_.find(word); word_id != kNoToken) {
        ids.push_back(word_id);
        return;
      }
    }
    if (word.size() > kCachedWord) return merge(word, s, ids);
    BpeScratch::Slot& slot = s.slots[std::hash<std::string_view>()(word) % kCacheSlots];
    if (slot.word != word) {
      const std::size_t begin = ids.size();
      merge(word, s, ids);
      slot = {word, static_cast<std::uint32_t>(s.cached.size()), static_cast<std::uint32_t>(ids.size() - begin)};
      s.cached.insert(s.cached.end(), ids.begin() + static_cast<std::ptrdiff_t>(begin), ids.end());
    } else {
      for (std::uint32_t i = 0; i < slot.count; ++i) ids.push_back(s.cached[slot.begin + i]);
    }
  }

 private:
  static constexpr char32_t kDirectCharacters = 0x3100;

  TokenId character_id(std::string_view character, char32_t code, bool is_first, bool is_last) const {
    if ((is_first || prefix_.empty()) && (!is_last || suffix_.empty()))
      return code < kDirectCharacters ? characters_[code] : vocabulary_.find(character);
    std::string text = is_first ? std::string(character) : prefix_ + std::string(character);
    if (is_last) text += suffix_;
    return vocabulary_.find(text);
  }

  void begin_symbols(std::string_view word, std::vector<BpeSymbol>& symbols) const {
    symbols.clear();
    const auto add = [&](TokenId id) {
      const auto symbol_index = static_cast<std::int32_t>(symbols.size());
      symbols.push_back({id, symbol_index - 1, -1, false});
      if (symbol_index > 0) symbols[static_cast<std::size_t>(symbol_index - 1)].next = symbol_index;
    };
    bool has_pending = false;  // an unknown character, which further ones may join
    for (std::size_t byte_index = 0; byte_index < word.size();) {
      const Character c = character_at(word, byte_index);
      const std::string_view character = word.substr(byte_index, c.size);
      const bool is_first = byte_index == 0;
      byte_index += c.size;
      const TokenId id = character_id(character, c.code, is_first, byte_index == word.size());
      if (id != kNoToken) {
        if (std::exchange(has_pending, false)) add(unknown_);
        add(id);
        continue;
      }
      if (byte_fallback_) {
        std::string text = is_first ? std::string(character) : prefix_ + std::string(character);
        if (byte_index == word.size()) text += suffix_;
        const auto byte_id = [&](char b) { return bytes_[static_cast<unsigned char>(b)]; };
        if (std::ranges::all_of(text, [&](char b) { return byte_id(b) != kNoToken; })) {
          for (const char b : text) add(byte_id(b));
          continue;
        }
      }
      if (!has_unknown_) continue;
      if (unknown_ == kNoToken)
        fail(ErrorCode::bad_file,
             fmt::format("the tokenizer's unk_token '{}' is not in its vocabulary", unknown_text_));
      if (has_pending && !fuse_unknown_) add(unknown_);
      has_pending = true;
    }
    if (has_pending) add(unknown_);
  }

  void merge(std::string_view word, BpeScratch& s, std::vector<TokenId>& ids) const {
    begin_symbols(word, s.symbols);
    std::vector<BpeMerge>& heap = s.heap;
    heap.clear();
    std::vector<BpeSymbol>& symbols = s.symbols;
    const auto symbol = [&](std::int32_t i) -> BpeSymbol& { return symbols[static_cast<std::size_t>(i)]; };
    const auto consider = [&](std::int32_t left, std::int32_t right) {
      if (const PairMap::Entry* e = merges_.find(symbol(left).id, symbol(right).id)) {
        heap.push_back({e->rank, left, e->id});
        std::push_heap(heap.begin(), heap.end());
      }
    };
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i)
      consider(static_cast<std::int32_t>(i), static_cast<std::int32_t>(i + 1));
    while (!heap.empty()) {
      std::pop_heap(heap.begin(), heap.end());
      const BpeMerge top = heap.back();
      heap.pop_back();
      BpeSymbol& left = symbol(top.position);
      if (left.is_merged || left.next < 0) continue;
      BpeSymbol& right = symbol(left.next);
      const PairMap::Entry* e = merges_.find(left.id, right.id);
      if (e == nullptr || e->id != top.id) continue;  // an earlier merge took one of both
      left.id = top.id;
      right.is_merged = true;
      left.next = right.next;
      if (right.next >= 0) symbol(right.next).previous = top.position;
      if (left.previous >= 0) consider(left.previous, top.position);
      if (left.next >= 0) consider(top.position, left.next);
    }
    for (const BpeSymbol& final_symbol : symbols) {
      if (!final_symbol.is_merged) ids.push_back(final_symbol.id);
    }
  }

  std::string prefix_, suffix_, unknown_text_;
  bool byte_fallback_, fuse_unknown_, ignore_merges_;
  bool has_unknown_ = false;
  TokenId unknown_ = kNoToken;
  PairMap merges_;
  std::vector<TokenId> bytes_;
  std::vector<TokenId> characters_;  ///< ids of characters below kDirectCharacters
};

}  // namespace

std::unique_ptr<TokenModel> make_bpe(ModelFields fields) {
  return std::make_unique<Bpe>(std::move(fields));
}

}  // namespace tern::text
