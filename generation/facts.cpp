#include "generation/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "generation/names.h"

namespace tern::llm {
namespace {

constexpr std::int64_t kMostSlots = 65536;

const std::string* find_fact(const Model& model, std::string_view key) {
  for (const auto& [name, value] : model.metadata()) {
    if (name == key) return &value;
  }
  return nullptr;
}

/// The numbers, 0 or more, of "2, 7"; none if the archive lacks the key.
std::vector<std::int64_t> numbers_of(const Model& model, std::string_view key) {
  std::vector<std::int64_t> found;
  const std::string* text = find_fact(model, key);
  if (text == nullptr) return found;
  const char *at = text->data(), *end = at + text->size();
  while (true) {
    std::int64_t n = -1;
    const auto [next, error] = std::from_chars(at, end, n);
    if (error != std::errc() || n < 0) break;
    found.push_back(n);
    if (next == end) return found;
    if (!std::string_view(next, end).starts_with(", ")) break;
    at = next + 2;
  }
  fail(ErrorCode::bad_file, fmt::format("the archive's metadata {} is no list of numbers such as 2, 7", key));
}

std::int64_t positive_number(const Model& model, std::string_view key) {
  const std::vector<std::int64_t> found = numbers_of(model, key);
  if (found.size() != 1 || found[0] == 0)
    fail(ErrorCode::bad_file, fmt::format("the archive's metadata {} is no number above 0", key));
  return found[0];
}

}  // namespace

Facts read_facts(const Model& model) {
  const std::string* version = find_fact(model, kVersionKey);
  if (version == nullptr) {
    fail(ErrorCode::invalid_argument,
         "the archive does not generate tokens; make it by 'tern export --llm' or tern.export_llm()");
  }
  if (*version != kVersion && *version != kSlotsVersion) {
    fail(ErrorCode::unsupported, fmt::format("the archive follows version {} of the rules for generating tokens; this "
                                             "version of Tern knows {} and {}",
                                             *version, kVersion, kSlotsVersion));
  }
  Facts facts{
      positive_number(model, kContextKey), positive_number(model, kVocabularyKey), {}, numbers_of(model, kEndKey)};
  if (*version == kSlotsVersion) facts.batch = positive_number(model, kBatchKey);
  if (facts.batch > kMostSlots)
    fail(ErrorCode::bad_file, fmt::format("the archive's metadata {} is above {}", kBatchKey, kMostSlots));
  const std::vector<std::int64_t> bos = numbers_of(model, kBeginKey);
  if (!bos.empty()) facts.bos = bos[0];
  return facts;
}

}  // namespace tern::llm
