// Splits of words at matches.
#pragma once

#include <string_view>
#include <vector>

#include "text/regex.h"
#include "text/tokenizer/pre_tokenizer.h"

namespace tern::text {

/// Fate of the matches (delimiters) of a split.
enum class Delimiter { removed, isolated, merged_with_previous, merged_with_next, contiguous };
Delimiter delimiter_of(std::string_view name);

/// Appends the parts of a word to `out`. `matches` are in order and do not overlap. `invert`: the text between them is
/// the delimiter.
void split_word(const Word& word, const std::vector<ByteRange>& matches, Delimiter delimiter, bool invert,
                std::vector<Word>& words_out);

}  // namespace tern::text
