// Text normalization of BERT's uncased tokenizer before the search for words, with utf8proc's Unicode tables.
#pragma once

#include <string>
#include <string_view>

/// Text without control characters and accents, in lower case. All white space becomes U' ', and CJK ideographs are
/// surrounded by spaces. `utf8` may contain any bytes.
std::u32string normalize(std::string_view utf8);

/// True for ASCII's 32 marks and Unicode's punctuation.
bool is_punctuation(char32_t c);

std::string to_utf8(std::u32string_view text);
