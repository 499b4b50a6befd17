#include "exporter/pt2/json.h"

#include <fmt/format.h>

#include <limits>

#include "exporter/pt2/text.h"

namespace tern::pt2 {
namespace {

constexpr const char* kKindNames[] = {"null",     "a boolean", "an integer", "a real number",
                                      "a string", "an array",  "an object"};

std::string wrong_kind(JsonValue::Kind found, const char* requested) {
  return fmt::format("expected {}, found {}", requested, kKindNames[static_cast<int>(found)]);
}

}  // namespace

JsonValue::Kind JsonValue::kind() const {
  return document_->stored_values_[index_].kind;
}
std::string_view JsonValue::key() const {
  return document_->view(document_->stored_values_[index_].key);
}
std::size_t JsonValue::size() const {
  return document_->stored_values_[index_].count;
}

bool JsonValue::as_bool() const {
  if (kind() != Kind::boolean) bad(wrong_kind(kind(), "a boolean"));
  return document_->stored_values_[index_].integer != 0;
}

std::int64_t JsonValue::as_int() const {
  const auto& value = document_->stored_values_[index_];
  if (value.kind != Kind::integer) bad(wrong_kind(kind(), "an integer"));
  if (value.too_large) bad("the integer does not fit in 64 bits");
  return value.integer;
}

double JsonValue::as_double() const {
  const auto& value = document_->stored_values_[index_];
  switch (value.kind) {
    case Kind::real: return value.real;
    case Kind::integer:
      return value.too_large ? static_cast<double>(static_cast<std::uint64_t>(value.integer))
                             : static_cast<double>(value.integer);
    case Kind::string: {
      const auto text = document_->view(value.string);
      if (text == "Infinity") return std::numeric_limits<double>::infinity();
      if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
      if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
      bad(fmt::format("expected a number, found the string {}", quote(text)));
    }
    default: bad(wrong_kind(kind(), "a number"));
  }
}

std::string_view JsonValue::as_string() const {
  const auto& value = document_->stored_values_[index_];
  if (value.kind != Kind::string) bad(wrong_kind(kind(), "a string"));
  return document_->view(value.string);
}

JsonValue JsonValue::array() const {
  if (kind() != Kind::array) bad(wrong_kind(kind(), "an array"));
  return *this;
}

JsonValue JsonValue::object() const {
  if (kind() != Kind::object) bad(wrong_kind(kind(), "an object"));
  return *this;
}

JsonValue JsonValue::operator[](std::string_view key) const {
  object();
  for (const JsonValue member : *this)
    if (member.key() == key) return member;
  bad(fmt::format("the key '{}' is missing", key));
}

std::optional<JsonValue> JsonValue::find(std::string_view key) const {
  object();
  for (const JsonValue member : *this)
    if (member.key() == key) return member.is_null() ? std::nullopt : std::optional(member);
  return std::nullopt;
}

JsonValue JsonValue::require_single_element() const {
  object();
  if (size() != 1) bad(fmt::format("expected an object with one tag, found {} keys", size()));
  return *begin();
}

JsonValue::Iterator JsonValue::begin() const {
  return {*document_, index_ + 1};
}
JsonValue::Iterator JsonValue::end() const {
  return {*document_, document_->stored_values_[index_].end};
}

JsonValue::Iterator& JsonValue::Iterator::operator++() {
  index_ = document_->stored_values_[index_].end;
  return *this;
}

// Searches from the root: reading pays nothing for paths.
std::string JsonValue::path() const {
  const auto& values = document_->stored_values_;
  std::string path;
  std::uint32_t node_index = 0;
  while (node_index < index_) {
    std::uint32_t child = node_index + 1;
    std::size_t position = 0;
    for (; values[child].end <= index_; ++position) child = values[child].end;
    if (values[node_index].kind == Kind::array) {
      path += fmt::format("[{}]", position);
    } else {
      const auto key = document_->view(values[child].key);
      const auto quoted_key = quote(key);
      if (!path.empty()) path += '.';
      // Unquoted unless escaped or cut.
      path += quoted_key.size() == key.size() + 2 ? std::string(key) : quoted_key;
    }
    node_index = child;
  }
  return path;
}

void JsonValue::fail_here(ErrorCode code, const std::string& problem) const {
  const std::string json_path = path();
  fail(code, fmt::format("{}: {}{}{}", document_->entry_, json_path, json_path.empty() ? "" : ": ", problem));
}

}  // namespace tern::pt2
