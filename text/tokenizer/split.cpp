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
                std::vector<Word>& out) {
  const auto add = [&](std::size_t begin, std::size_t end) {
    if (begin < end) out.push_back({word.text.substr(begin, end - begin), word.is_first && begin == 0});
  };
  const auto each_part = [&](auto take) {
    std::size_t at = 0;
    for (const ByteRange& m : matches) {
      if (m.begin > at) take(SplitPart{at, m.begin, invert});
      take(SplitPart{m.begin, m.end, !invert});
      at = m.end;
    }
    if (at < word.text.size()) take(SplitPart{at, word.text.size(), invert});
  };
  if (delimiter == Delimiter::isolated || delimiter == Delimiter::removed) {
    each_part([&](const SplitPart& p) {
      if (delimiter == Delimiter::isolated || !p.is_delimiter) add(p.begin, p.end);
    });
    return;
  }
  thread_local std::vector<SplitPart> parts;
  parts.clear();
  each_part([&](const SplitPart& p) { parts.push_back(p); });
  const bool backward = delimiter == Delimiter::merged_with_next;
  if (backward) std::ranges::reverse(parts);
  std::size_t count = 0;  // parts kept, from the front
  bool after_delimiter = false;
  for (const SplitPart& p : std::vector<SplitPart>(parts)) {
    const bool joins =
        delimiter == Delimiter::contiguous ? p.is_delimiter == after_delimiter : p.is_delimiter && !after_delimiter;
    if (joins && count > 0) {
      (backward ? parts[count - 1].begin : parts[count - 1].end) = backward ? p.begin : p.end;
    } else {
      parts[count++] = p;
    }
    after_delimiter = p.is_delimiter;
  }
  parts.resize(count);
  if (backward) std::ranges::reverse(parts);
  for (const SplitPart& p : parts) add(p.begin, p.end);
}

}  // namespace tern::text
