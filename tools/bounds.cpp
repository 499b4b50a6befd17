#include "tools/bounds.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <charconv>

#include "tools/text.h"

namespace tern {
namespace {

template <class Number>
bool parse_bound(std::string_view text, Number* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

/// Empty for a number within the bounds.
template <class Number, class Bounds>
std::string problem(std::string_view text, Bounds b, Number* value) {
  if (parse_bound(text, value) && *value >= b.min && *value <= b.max) return {};
  const char* kind = std::is_same_v<Number, double> ? "number" : "whole number";
  return fmt::format("takes a {} from {} to {}, not '{}'", kind, b.min, b.max, escape_name(text));
}

template <class Number, class Bounds>
void add_check(Option option, Bounds b) {
  // Longer bounds would not help the reader.
  constexpr auto kMaxShown = static_cast<decltype(b.max)>(1'000'000'000'000);
  option.type_name(b.max > kMaxShown ? std::string("N") : fmt::format("{}..{}", b.min, b.max));
  option.check([b](const std::string& text) {
    Number value{};
    return problem(text, b, &value);
  });
}

}  // namespace

void require_range(Option option, WholeBounds bounds) {
  add_check<std::uint64_t>(option, bounds);
}

void require_range(Option option, RealBounds bounds) {
  add_check<double>(option, bounds);
}

std::uint64_t parse_whole(std::string_view quantity, std::string_view text, WholeBounds bounds) {
  std::uint64_t value = 0;
  const std::string problem_text = problem(text, bounds, &value);
  if (!problem_text.empty()) fail(ErrorCode::invalid_argument, fmt::format("{} {}", quantity, problem_text));
  return value;
}

}  // namespace tern
