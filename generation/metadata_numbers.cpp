#include "generation/metadata_numbers.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <charconv>

namespace tern::llm {

const std::string* find_fact(const Model& model, std::string_view key) {
  for (const auto& [name, value] : model.metadata()) {
    if (name == key) return &value;
  }
  return nullptr;
}

std::vector<std::int64_t> numbers_of(const Model& model, std::string_view key) {
  std::vector<std::int64_t> found;
  const std::string* text = find_fact(model, key);
  if (text == nullptr) return found;
  const char *position = text->data(), *end = position + text->size();
  while (true) {
    std::int64_t n = -1;
    const auto [next, error] = std::from_chars(position, end, n);
    if (error != std::errc() || n < 0) break;
    found.push_back(n);
    if (next == end) return found;
    if (!std::string_view(next, end).starts_with(", ")) break;
    position = next + 2;
  }
  fail(ErrorCode::bad_file, fmt::format("the archive's metadata {} is no list of numbers such as 2, 7", key));
}

std::int64_t positive_number(const Model& model, std::string_view key) {
  const std::vector<std::int64_t> found = numbers_of(model, key);
  if (found.size() != 1 || found[0] == 0)
    fail(ErrorCode::bad_file, fmt::format("the archive's metadata {} is no number above 0", key));
  return found[0];
}

}  // namespace tern::llm
