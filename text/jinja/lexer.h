// Tokens of a template.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tern::jinja {

enum class TokenKind : std::uint8_t {
  text,          ///< output as it is
  begin_output,  ///< {{
  end_output,
  begin_block,  ///< {%
  end_block,
  name,
  string,
  integer,
  number,
  symbol,  ///< operators and brackets
  end,
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string text;
  int line = 1;
};

/// Splits a template as jinja2 does with trim_blocks and lstrip_blocks. Throws bad_file for a template with errors.
std::vector<Token> read_tokens(std::string_view source);

/// Throws bad_file: the template has an error in this line.
[[noreturn]] void fail_template(int line, const std::string& message);

}  // namespace tern::jinja
