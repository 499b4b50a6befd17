// Classes of ASCII characters, independent of the locale, for parsers of expressions and schemas.
#pragma once

namespace tern {

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Letters and the underscore begin an identifier.
constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/// Characters of a dotted name: torch.sym_float, aten::add.Tensor.
constexpr bool is_word(char c) {
  return is_letter(c) || is_digit(c) || c == '.';
}

}  // namespace tern
