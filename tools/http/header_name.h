// Names of headers.
#pragma once

#include <algorithm>
#include <string_view>

namespace tern::http {

/// True for the same name in any case (RFC 9110, section 5.1).
inline bool is_same_header(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

}  // namespace tern::http
