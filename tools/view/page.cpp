#include "tools/view/page.h"

#include <fmt/format.h>

#include <random>

#include "tools/view/embedded_page.h"

namespace tern::view {
namespace {

/// Prevents data from ending the script element: "<" occurs only in JSON strings, where \u003c means the same.
std::string escaped(std::string_view data) {
  std::string text;
  text.reserve(data.size() + data.size() / 64);
  for (const char c : data) c == '<' ? text += "\\u003c" : text += c;
  return text;
}

}  // namespace

std::string random_token() {
  std::random_device random;
  std::string token;
  for (int i = 0; i < 4; ++i) token += fmt::format("{:08x}", random());
  return token;
}

std::string page_with(std::string_view data) {
  const std::string nonce = random_token(), escaped_data = escaped(data);
  const std::string_view page(kEmbeddedPage, kEmbeddedPageSize);
  std::string text;
  text.reserve(page.size() + escaped_data.size() + 256);
  for (std::size_t at = 0;;) {
    const std::size_t mark = page.find("{{", at);
    text += page.substr(at, mark - at);
    if (mark == std::string_view::npos) return text;
    const std::size_t end = page.find("}}", mark);
    text += page.substr(mark + 2, end - mark - 2) == "nonce" ? nonce : escaped_data;
    at = end + 2;
  }
}

}  // namespace tern::view
