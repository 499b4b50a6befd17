#include "tools/http/request_reader.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "tools/http/header_name.h"

namespace tern::http {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

/// Reads digits alone; empty for any other text and for numbers beyond 64 bits.
std::optional<std::uint64_t> parse_length(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

}  // namespace

RequestReader::State RequestReader::refuse(std::string_view status) {
  refusal_ = status;
  return state_ = State::refused;
}

RequestReader::State RequestReader::add(std::string_view bytes) {
  if (state_ != State::reading) return state_;
  if (!head_is_complete_) {
    constexpr std::string_view kEnd = "\r\n\r\n";
    const std::size_t search_begin = head_.size() < kEnd.size() ? 0 : head_.size() - kEnd.size();
    const std::size_t old_size = head_.size();
    const std::size_t max_bytes = limits_.head_bytes + kEnd.size();
    head_ += bytes.substr(0, max_bytes - old_size);
    const std::size_t found = head_.find(kEnd, search_begin);
    if (found == std::string::npos && head_.size() == max_bytes)
      return refuse(head_.find('\n') == std::string::npos ? "414 URI Too Long" : "431 Request Header Fields Too Large");
    if (found == std::string::npos) return state_;
    head_.resize(found + kEnd.size());
    bytes.remove_prefix(head_.size() - old_size);
    head_is_complete_ = true;
    if (read_head() != State::reading) return state_;
  }
  body_ += bytes.substr(0, body_size_ - body_.size());
  if (body_.size() == body_size_) state_ = State::complete;
  return state_;
}

RequestReader::State RequestReader::read_head() {
  std::optional<std::uint64_t> length;
  std::string_view remaining = head_;
  remaining.remove_prefix(remaining.find("\r\n") + 2);
  while (!remaining.starts_with("\r\n")) {
    const std::size_t end = remaining.find("\r\n");
    const std::string_view line = remaining.substr(0, end);
    remaining.remove_prefix(end + 2);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;  // cpp-httplib decides
    const std::string_view name = line.substr(0, colon), value = trimmed(line.substr(colon + 1));
    if (is_same_header(name, "Transfer-Encoding")) return refuse("411 Length Required");
    if (is_same_header(name, "Expect") && is_same_header(value, "100-continue")) waits_ = true;
    if (!is_same_header(name, "Content-Length")) continue;
    const std::optional<std::uint64_t> value_length = parse_length(value);
    // Two lengths may hide a second request from a proxy.
    if (!value_length || (length && *length != *value_length)) return refuse("400 Bad Request");
    length = value_length;
  }
  if (length.value_or(0) > limits_.body_bytes) return refuse("413 Content Too Large");
  body_size_ = static_cast<std::size_t>(length.value_or(0));
  if (body_size_ == 0) waits_ = false;
  return state_;
}

bool RequestReader::take_continue() {
  const bool waits = waits_ && state_ == State::reading;
  waits_ = false;
  return waits;
}

}  // namespace tern::http
