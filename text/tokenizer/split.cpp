#include "text/tokenizer/split.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

namespace tern::text {
namespace {

struct DelimiterName {
  std::string_view name;
  Delimiter value;
};
constexpr DelimiterName kDelimiters[] = {{"Removed", Delimiter::removed},
                                         {"Isolated", Delimiter::isolated},
                                         {"MergedWithPrevious", Delimiter::merged_with_previous},
                                         {"MergedWithNext", Delimiter::merged_with_next},
                                         {"Contiguous", Delimiter::contiguous}};

struct SplitPart {
  std::size_t begin, end;
  bool is_delimiter;
};

}  // namespace

Delimiter delimiter_of(std::string_view name) {
  const auto found = std::ranges::find(kDelimiters, name, &DelimiterName::name);
  if (found == std::end(kDelimiters))
    fail(ErrorCode::bad_file, fmt::format("the tokenizer has a split with behavior '{}', which is not known", name));
  return found->value;
}

void split_word(const Word& word, const std::vector<ByteRange>& matches, Delimiter delimiter, bool invert,
                std::vector<Word>& words_out) {
  const auto add = [&](std::size_t begin, std::size_t end) {
    if (begin < end) words_out.push_back({word.text.substr(begin, end - begin), word.is_first && begin == 0});
  };
  const auto each_part = [&](auto on_part) {
    std::size_t part_begin = 0;
    for (const ByteRange& m : matches) {
      if (m.begin > part_begin) on_part(SplitPart{part_begin, m.begin, invert});
      on_part(SplitPart{m.begin, m.end, !invert});
      part_begin = m.end;
    }
    if (part_begin < word.text.size()) on_part(SplitPart{part_begin, word.text.size(), invert});
  };
  if (delimiter == Delimiter::isolated || delimiter == Delimiter::removed) {
    each_part([&](const SplitPart& p) {
      if (delimiter == Delimiter::isolated || !p.is_delimiter) add(p.begin, p.end);
    });
    return;
  }
  thread_local std::vector<SplitPart> split_parts;
  split_parts.clear();
  each_part([&](const SplitPart& p) { split_parts.push_back(p); });
  const bool backward = delimiter == Delimiter::merged_with_next;
  if (backward) std::ranges::reverse(split_parts);
  std::size_t count = 0;  // parts kept, from the front
  bool after_delimiter = false;
  for (const SplitPart& p : std::vector<SplitPart>(split_parts)) {
    const bool joins_previous =
        delimiter == Delimiter::contiguous ? p.is_delimiter == after_delimiter : p.is_delimiter && !after_delimiter;
    if (joins_previous && count > 0) {
      (backward ? split_parts[count - 1].begin : split_parts[count - 1].end) = backward ? p.begin : p.end;
    } else {
      split_parts[count++] = p;
    }
    after_delimiter = p.is_delimiter;
  }
  split_parts.resize(count);
  if (backward) std::ranges::reverse(split_parts);
  for (const SplitPart& p : split_parts) add(p.begin, p.end);
}

}  // namespace tern::text
