#include "tools/names.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "tools/text.h"

namespace tern {
namespace {

constexpr std::size_t kMaxNames = 20;
constexpr std::size_t kNamesMostLetters = 64;

/// A third of the letters may differ, or two letters of a short name.
bool is_near(std::size_t distance, std::string_view unknown) {
  return distance <= std::max<std::size_t>(unknown.size() > 2 ? 2 : 1, unknown.size() / 3);
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  a = a.substr(0, kNamesMostLetters);
  b = b.substr(0, kNamesMostLetters);
  std::vector<std::size_t> row_before_last, last_row(b.size() + 1), current_row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last_row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current_row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last_row[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current_row[j] = std::min({last_row[j] + 1, current_row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        current_row[j] = std::min(current_row[j], row_before_last[j - 2] + 1);
    }
    row_before_last = last_row;
    std::swap(last_row, current_row);
  }
  return last_row[b.size()];
}

std::string near_miss(std::string_view unknown, const std::vector<std::string>& names) {
  const std::string* nearest = nullptr;
  std::size_t min_distance = kNamesMostLetters;
  for (const std::string& name : names) {
    const std::size_t distance = edit_distance(unknown, name);
    const bool is_prefix = unknown.size() >= 3 && name.starts_with(unknown);
    if ((!is_near(distance, unknown) && !is_prefix) || distance >= min_distance) continue;
    min_distance = distance;
    nearest = &name;
  }
  return nearest == nullptr ? std::string() : *nearest;
}

std::string unknown_name(std::string_view kind, std::string_view unknown, std::vector<std::string> names) {
  std::string text = fmt::format("there is no {} '{}'", kind, escape_name(unknown));
  if (names.empty()) return text + fmt::format("; there are no {}s", kind);
  const std::string nearest_name = near_miss(unknown, names);
  if (!nearest_name.empty()) text += fmt::format("; did you mean '{}'?", escape_name(nearest_name));
  std::ranges::stable_sort(names, {}, [&](const std::string& name) { return edit_distance(unknown, name); });
  text += fmt::format("{} The {}s are: ", nearest_name.empty() ? "." : "", kind);
  for (std::size_t i = 0; i < std::min(names.size(), kMaxNames); ++i)
    text += (i == 0 ? "" : ", ") + escape_name(names[i]);
  return names.size() > kMaxNames ? text + fmt::format(" and {} more", names.size() - kMaxNames) : text;
}

void fail_unknown_name(std::string_view kind, std::string_view unknown, std::vector<std::string> names) {
  fail(ErrorCode::invalid_argument, unknown_name(kind, unknown, std::move(names)));
}

}  // namespace tern
