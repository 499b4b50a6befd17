#include "generation/grammar/token_table.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "text/tokenizer_impl.h"
#include "text/unicode.h"

namespace tern::grammar {
namespace {

/// A token behind which other tokens show all of their text: decoders strip a space at the begin.
std::optional<std::int64_t> letter_token(const Tokenizer& tokenizer, std::int64_t count) {
  for (std::int64_t id = 0; id < count; ++id) {
    const std::string text = tokenizer.impl()->bytes_of(id);
    const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    const std::optional<TokenInfo> info = tokenizer.token(id);
    if (!text.empty() && info && !info->is_special && std::ranges::all_of(text, is_letter)) return id;
  }
  return {};
}

}  // namespace

TokenTable::TokenTable(const Tokenizer& tokenizer, std::int64_t vocabulary)
    : texts_(static_cast<std::size_t>(vocabulary)) {
  const std::int64_t count = std::min(vocabulary, tokenizer.vocabulary_size());
  const std::optional<std::int64_t> letter = letter_token(tokenizer, count);
  const std::string letter_text = letter ? tokenizer.decode({&*letter, 1}) : std::string();
  std::vector<std::uint32_t> order;
  for (std::int64_t id = 0; id < count; ++id) {
    const std::optional<TokenInfo> info = tokenizer.token(id);
    if (!info || info->is_special) continue;
    std::string& text = texts_[static_cast<std::size_t>(id)];
    text = tokenizer.impl()->bytes_of(id);
    // A part of a character has bytes alone; the text of other tokens may differ from their spelling ("▁the").
    if (letter && text::valid_size(text) == text.size()) {
      const std::int64_t pair[] = {*letter, id};
      const std::string pair_text = tokenizer.decode(pair);
      text = pair_text.starts_with(letter_text) ? pair_text.substr(letter_text.size()) : std::string();
    }
    if (!text.empty()) order.push_back(static_cast<std::uint32_t>(id));
  }
  std::ranges::sort(order, {}, [&](std::uint32_t id) { return std::pair(std::string_view(texts_[id]), id); });
  std::string_view last;
  for (const std::uint32_t id : order) {
    const std::string& text = texts_[id];
    const auto common = static_cast<std::uint32_t>(std::ranges::mismatch(last, text).in1 - last.begin());
    entries_.push_back(
        {id, static_cast<std::uint32_t>(bytes_.size()), static_cast<std::uint32_t>(text.size()), common});
    bytes_ += text;
    max_bytes_ = std::max(max_bytes_, text.size());
    last = text;
  }
}

}  // namespace tern::grammar
