// Unigram: of all ways to split a word into tokens, the one with the largest sum of scores (Viterbi's algorithm).
#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <limits>

#include "text/tokenizer/fields.h"
#include "text/tokenizer/model.h"
#include "text/tokenizer/trie.h"
#include "text/unicode.h"

namespace tern::text {
namespace {

constexpr double kUnknownPenalty = 10;  ///< the unknown token's score lies this far below the smallest score
constexpr std::size_t kMaxUnigramToken = 1024;

/// Best way to the end of a prefix of the word.
struct UnigramStep {
  double score = 0;
  std::uint32_t begin = kNoStep;  ///< begin of the last token
  TokenId id = 0;
  static constexpr std::uint32_t kNoStep = 0xffffffffu;
};

struct UnigramScratch : ModelScratch {
  std::vector<UnigramStep> steps;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pieces;
};

class Unigram : public TokenModel {
 public:
  explicit Unigram(ModelFields model_fields) : byte_fallback_(bool_field(model_fields.fields, "byte_fallback", false)) {
    if (model_fields.scores.empty()) fail(ErrorCode::bad_file, "the vocabulary of the Unigram tokenizer is empty");
    double smallest = std::numeric_limits<double>::infinity();
    std::vector<Trie::Entry> entries;
    for (std::size_t id = 0; id < model_fields.scores.size(); ++id) {
      smallest = std::min(smallest, model_fields.scores[id].second);
      scores_.push_back(model_fields.scores[id].second);
      if (model_fields.scores[id].first.size() > kMaxUnigramToken)
        fail(ErrorCode::bad_file, fmt::format("token {} of the vocabulary has {} bytes; Unigram allows {}", id,
                                              model_fields.scores[id].first.size(), kMaxUnigramToken));
      vocabulary_.add(std::move(model_fields.scores[id].first), id);
    }
    for (std::size_t id = 0; id < scores_.size(); ++id)
      entries.emplace_back(*vocabulary_.token(id), vocabulary_.find(*vocabulary_.token(id)));
    trie_ = Trie(std::move(entries));
    unknown_score_ = smallest - kUnknownPenalty;
    const std::int64_t unknown = integer_field(model_fields.fields, "unk_id", -1);
    if (unknown >= static_cast<std::int64_t>(scores_.size()))
      fail(ErrorCode::bad_file,
           fmt::format("the tokenizer's unk_id {} is not in its vocabulary of {}", unknown, scores_.size()));
    if (unknown >= 0) unknown_ = static_cast<TokenId>(unknown);
    bytes_ = byte_tokens(vocabulary_);
  }

  std::unique_ptr<ModelScratch> make_scratch() const override { return std::make_unique<UnigramScratch>(); }

  void encode(std::string_view word, ModelScratch* scratch, std::vector<TokenId>& ids) const override {
    if (word.empty()) return;
    auto& s = static_cast<UnigramScratch&>(*scratch);
    find_best(word, s.steps);
    s.pieces.clear();
    bool after_unknown = false;  // unknown tokens side by side are one piece
    for (auto end = static_cast<std::uint32_t>(word.size()); end > 0;) {
      const UnigramStep& step = s.steps[end];
      const bool is_unknown = step.id == unknown_;
      if (is_unknown && after_unknown) {
        s.pieces.back().first = step.begin;
      } else {
        s.pieces.emplace_back(step.begin, end);
      }
      after_unknown = is_unknown;
      end = step.begin;
    }
    for (auto piece = s.pieces.rbegin(); piece != s.pieces.rend(); ++piece)
      add_ids(word.substr(piece->first, piece->second - piece->first), ids);
  }

 private:
  void find_best(std::string_view word, std::vector<UnigramStep>& steps) const {
    if (word.size() >= UnigramStep::kNoStep) fail(ErrorCode::invalid_argument, "a word of 4 GiB cannot be encoded");
    steps.assign(word.size() + 1, {});
    for (std::size_t begin = 0; begin < word.size();) {
      const double score = steps[begin].score;
      const std::size_t character = character_at(word, begin).size;
      bool has_character = false;
      const auto offer = [&](std::size_t end, double sum, TokenId id) {
        UnigramStep& step = steps[end];
        if (step.begin == UnigramStep::kNoStep || sum > step.score) step = {sum, static_cast<std::uint32_t>(begin), id};
      };
      std::uint32_t node = Trie::root();
      for (std::size_t end = begin; end < word.size();) {
        node = trie_.child(node, static_cast<unsigned char>(word[end++]));
        if (node == Trie::kNoNode) break;
        const std::uint32_t id = trie_.value(node);
        if (id == Trie::kNoNode) continue;
        offer(end, scores_[id] + score, id);
        has_character = has_character || end - begin == character;
      }
      if (!has_character) {
        if (unknown_ == kNoToken)
          fail(ErrorCode::bad_file, "the tokenizer has no token for a character of the text, and no unk_id");
        offer(begin + character, unknown_score_ + score, unknown_);
      }
      begin += character;
    }
  }

  void add_ids(std::string_view piece, std::vector<TokenId>& ids) const {
    if (const TokenId id = vocabulary_.find(piece); id != kNoToken) {
      ids.push_back(id);
      return;
    }
    const auto byte_id = [&](char b) { return bytes_[static_cast<unsigned char>(b)]; };
    if (byte_fallback_ && std::ranges::all_of(piece, [&](char b) { return byte_id(b) != kNoToken; })) {
      for (const char b : piece) ids.push_back(byte_id(b));
      return;
    }
    if (unknown_ == kNoToken) fail(ErrorCode::bad_file, "the tokenizer has no unk_id for an unknown text");
    ids.push_back(unknown_);
  }

  bool byte_fallback_;
  TokenId unknown_ = kNoToken;
  double unknown_score_ = 0;
  std::vector<double> scores_;
  std::vector<TokenId> bytes_;
  Trie trie_;
};

}  // namespace

std::unique_ptr<TokenModel> make_unigram(ModelFields fields) {
  return std::make_unique<Unigram>(std::move(fields));
}

}  // namespace tern::text
