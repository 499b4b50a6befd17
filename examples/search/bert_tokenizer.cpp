#include "bert_tokenizer.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <stdexcept>

#include "bert_text.h"

namespace {

constexpr std::size_t kLongestWord = 100;  // characters; longer words are unknown as a whole

/// A text may contain these tokens literally.
constexpr std::array<std::string_view, 5> kSpecial = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};

}  // namespace

BertTokenizer::BertTokenizer(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read the vocabulary " + path);
  std::int64_t line = 0;
  for (std::string piece; std::getline(file, piece); ++line) {
    if (!piece.empty() && piece.back() == '\r') piece.pop_back();
    numbers_.insert_or_assign(piece, line);
  }
  for (const std::string_view special : kSpecial) {
    if (!numbers_.contains(std::string(special))) {
      throw std::runtime_error(path + " is no vocabulary of BERT: it has no line " + std::string(special));
    }
  }
  padding_ = number("[PAD]");
  unknown_ = number("[UNK]");
  begin_ = number("[CLS]");
  end_ = number("[SEP]");
}

std::int64_t BertTokenizer::number(const std::string& piece) const {
  return numbers_.at(piece);
}

std::vector<std::int64_t> BertTokenizer::encode(std::string_view text, std::size_t limit) const {
  std::vector<std::int64_t> numbers = {begin_};
  std::size_t done = 0;
  for (std::size_t i = text.find('['); i != text.npos; i = text.find('[', i + 1)) {
    const auto special = std::find_if(kSpecial.begin(), kSpecial.end(),
                                      [&](std::string_view name) { return text.substr(i).starts_with(name); });
    if (special == kSpecial.end()) continue;
    add_words(text.substr(done, i - done), numbers);
    numbers.push_back(number(std::string(*special)));
    done = i + special->size();
    i = done - 1;
  }
  add_words(text.substr(done), numbers);
  numbers.resize(std::min(numbers.size(), std::max<std::size_t>(limit, 2) - 1));
  numbers.push_back(end_);
  return numbers;
}

/// Words are separated by spaces; each punctuation mark is a word.
void BertTokenizer::add_words(std::string_view text, std::vector<std::int64_t>& numbers) const {
  const std::u32string normal = normalize(text);
  const std::u32string_view all = normal;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= all.size(); ++i) {
    const bool mark = i < all.size() && is_punctuation(all[i]);
    if (i < all.size() && all[i] != U' ' && !mark) continue;
    if (i > begin) add_pieces(all.substr(begin, i - begin), numbers);
    if (mark) add_pieces(all.substr(i, 1), numbers);
    begin = i + 1;
  }
}

/// The longest piece at the beginning of the word, then the longest continuation, and so on. A word with an unmatched
/// rest is unknown.
void BertTokenizer::add_pieces(std::u32string_view word, std::vector<std::int64_t>& numbers) const {
  if (word.size() > kLongestWord) return numbers.push_back(unknown_);
  const std::size_t before = numbers.size();
  for (std::size_t begin = 0; begin < word.size();) {
    std::size_t end = word.size();
    for (; end > begin; --end) {
      const auto found = numbers_.find((begin > 0 ? "##" : "") + to_utf8(word.substr(begin, end - begin)));
      if (found == numbers_.end()) continue;
      numbers.push_back(found->second);
      break;
    }
    if (end == begin) {
      numbers.resize(before);
      return numbers.push_back(unknown_);
    }
    begin = end;
  }
}
