// Splits PTX into tokens.
#pragma once

#include <string_view>
#include <vector>

namespace tern::emulated {

enum class TokenKind {
  kName,     // add, %r1, $L__BB0_2, _Z1fv
  kDotName,  // .global, .L1::evict_last
  kNumber,   // 12, 0x1F, 0f3F800000, 1U
  kString,   // "text", with its quotes
  kSymbol,   // a single character
  kEnd,
};

struct Token {
  TokenKind kind;
  std::string_view text;
  int line;
  bool spaced;  // preceded by white space or a comment
};

std::vector<Token> tokenize(std::string_view ptx);

}  // namespace tern::emulated
