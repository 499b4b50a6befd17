// JSON of requests: an object's members with their types checked.
#pragma once

#include <fmt/format.h>
#include <tern/error.h>

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace tern::serve {

using ParsedJson = nlohmann::json;

[[noreturn]] inline void refuse(const std::string& message) {
  fail(ErrorCode::invalid_argument, message);
}

inline constexpr int kMaxDepth = 32;  ///< levels of nested JSON

inline ParsedJson parse_object(std::string_view text) {
  const auto limit = [](int depth, ParsedJson::parse_event_t, ParsedJson&) {
    if (depth > kMaxDepth) refuse(fmt::format("the JSON has more than {} levels", kMaxDepth));
    return true;
  };
  ParsedJson json = ParsedJson::parse(text, limit, false);
  if (!json.is_object()) refuse("the request's body is no JSON object");
  return json;
}

/// Members of a call. Null counts as absent.
class Members {
 public:
  explicit Members(const ParsedJson& json) : json_(json) {}

  const ParsedJson* find(const char* name) const {
    const auto found = json_.find(name);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }
  bool flag(const char* name, bool otherwise) const {
    const ParsedJson* value = find(name);
    if (value == nullptr) return otherwise;
    if (!value->is_boolean()) refuse(fmt::format("'{}' must be true or false", name));
    return value->get<bool>();
  }
  double number(const char* name, double otherwise) const {
    const ParsedJson* value = find(name);
    if (value == nullptr) return otherwise;
    if (!value->is_number()) refuse(fmt::format("'{}' must be a number", name));
    return value->get<double>();
  }
  std::int64_t integer(const char* name, std::int64_t otherwise, std::int64_t low, std::int64_t high) const {
    const ParsedJson* value = find(name);
    if (value == nullptr) return otherwise;
    const bool is_in_range = value->is_number_integer() &&
                             (!value->is_number_unsigned() ||
                              value->get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<std::int64_t>::max()});
    if (!is_in_range || value->get<std::int64_t>() < low || value->get<std::int64_t>() > high)
      refuse(fmt::format("'{}' must be an integer from {} to {}", name, low, high));
    return value->get<std::int64_t>();
  }
  std::string text(const char* name) const {
    const ParsedJson* value = find(name);
    if (value == nullptr) return {};
    if (!value->is_string()) refuse(fmt::format("'{}' must be a string", name));
    return value->get<std::string>();
  }

 private:
  const ParsedJson& json_;
};

inline std::vector<std::int64_t> token_ids(const ParsedJson& list, const char* name) {
  std::vector<std::int64_t> ids;
  ids.reserve(list.size());
  for (const ParsedJson& id : list) {
    if (!id.is_number_integer()) refuse(fmt::format("'{}' must hold token ids", name));
    ids.push_back(id.get<std::int64_t>());
  }
  return ids;
}

}  // namespace tern::serve
