#include "tools/generation/shown_text.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <array>
#include <cstdio>
#include <span>

#include "dtypes/printable.h"
#include "platform/console.h"
#include "platform/error.h"
#include "tools/output.h"
#include "tools/terminal.h"

namespace tern {
namespace {

std::string safe_text(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\n\t"), text.size());
    result += printable(text.substr(0, end));
    if (end < text.size()) result += text[end];
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

}  // namespace

void show_answer(std::string_view text) {
  if (text.empty()) return;
  print_output(is_terminal(1) ? safe_text(text) : std::string(text));
  if (!output_is_taken()) std::fflush(stdout);
}

std::string read_standard_input(std::size_t max_bytes) {
  std::string text;
  std::array<char, 65536> piece;
  while (true) {
    const std::int64_t n = platform::read_input(std::as_writable_bytes(std::span(piece)));
    if (n < 0)
      fail(ErrorCode::io, fmt::format("cannot read standard input: {}", platform::error_text(platform::last_error())));
    if (n == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(n));
    if (text.size() > max_bytes)
      fail(ErrorCode::invalid_argument, fmt::format("standard input has more than {} bytes", max_bytes));
  }
}

}  // namespace tern
