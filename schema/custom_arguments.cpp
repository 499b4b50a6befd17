#include "schema/custom_arguments.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <array>
#include <charconv>

namespace tern {
namespace {

constexpr std::array<std::string_view, 5> kKinds = {"none", "tensors", "integers", "numbers", "text"};

[[noreturn]] void bad(const std::string& message) {
  fail(ErrorCode::bad_file, "the arguments of a custom operator: " + message);
}

/// Splits off the characters up to `end` from `text`, together with `end`.
std::string_view consume_until(std::string_view& text, char end) {
  const std::size_t line_end = text.find(end);
  if (line_end == std::string_view::npos) bad("a line ends too soon");
  const std::string_view field = text.substr(0, line_end);
  text.remove_prefix(line_end + 1);
  return field;
}

CustomArgument read_line(std::string_view& text) {
  CustomArgument a;
  a.name = consume_until(text, ' ');
  const std::string_view kind = consume_until(text, ' '), count = consume_until(text, '\n');
  std::size_t k = 0;
  while (k < kKinds.size() && kKinds[k] != kind) ++k;
  if (k == kKinds.size()) bad(fmt::format("'{}' has the unknown kind '{}'", a.name, kind));
  a.kind = static_cast<CustomArgument::Kind>(k);
  const auto [rest, error] = std::from_chars(count.data(), count.data() + count.size(), a.count);
  if (error != std::errc() || rest != count.data() + count.size() || a.count < 0)
    bad(fmt::format("'{}' has no count", a.name));
  return a;
}

std::size_t length_of(const Node& node, AttrKey key) {
  const AttrData* data = node.find(key);
  if (data == nullptr) return 0;
  if (const auto* dims = std::get_if<Dims>(data)) return dims->size();
  if (const auto* numbers = std::get_if<std::vector<double>>(data)) return numbers->size();
  return 0;
}

}  // namespace

std::string format_custom_arguments(const std::vector<CustomArgument>& arguments) {
  std::string text;
  for (const CustomArgument& a : arguments)
    text += fmt::format("{} {} {}\n", a.name, kKinds[static_cast<std::size_t>(a.kind)], a.count);
  text += '\n';
  for (const CustomArgument& a : arguments) text += a.text;
  return text;
}

std::vector<CustomArgument> custom_arguments(const Node& node) {
  std::string_view text = node.text(AttrKey::text);
  std::vector<CustomArgument> arguments;
  std::array<std::size_t, kKinds.size()> counts{};
  while (!text.starts_with('\n')) {
    arguments.push_back(read_line(text));
    counts[static_cast<std::size_t>(arguments.back().kind)] += static_cast<std::size_t>(arguments.back().count);
  }
  text.remove_prefix(1);
  const std::array<std::size_t, kKinds.size()> given_counts = {0, node.inputs.size(), length_of(node, AttrKey::value),
                                                               length_of(node, AttrKey::hyper), text.size()};
  for (std::size_t k = 0; k < kKinds.size(); ++k) {
    if (counts[k] != given_counts[k])
      bad(fmt::format("{} {} are named, but {} are given", counts[k], kKinds[k], given_counts[k]));
  }
  for (CustomArgument& a : arguments) {
    if (a.kind != CustomArgument::Kind::text) continue;
    a.text = text.substr(0, static_cast<std::size_t>(a.count));
    text.remove_prefix(static_cast<std::size_t>(a.count));
  }
  return arguments;
}

}  // namespace tern
