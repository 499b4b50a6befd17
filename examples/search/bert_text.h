// How BERT's uncased tokenizer reads text before it looks for words, by the tables of Unicode in utf8proc.
#pragma once

#include <string>
#include <string_view>

/// Text without control characters and accents, in lower case. All white space is U' ', and CJK ideographs stand
/// between spaces. `utf8` may hold any bytes.
std::u32string normalize(std::string_view utf8);

/// ASCII's 32 marks and what Unicode calls punctuation.
bool is_punctuation(char32_t c);

std::string to_utf8(std::u32string_view text);
