#include "text/tokenizer/fields.h"

#include <fmt/format.h>
#include <tern/error.h>

namespace tern::text {
namespace {

[[noreturn]] void wrong_field(const nlohmann::json& j, const char* name, const char* expected) {
  const auto type = j.is_object() ? j.find("type") : j.end();
  const std::string owner_text =
      type != j.end() && type->is_string() ? " of " + type->get<std::string>() : std::string();
  fail(ErrorCode::bad_file, fmt::format("the tokenizer's field '{}'{} must be {}", name, owner_text, expected));
}

}  // namespace

bool has_field(const nlohmann::json& j, const char* name) {
  if (!j.is_object()) return false;
  const auto found = j.find(name);
  return found != j.end() && !found->is_null();
}

const nlohmann::json& required_field(const nlohmann::json& j, const char* name) {
  if (!has_field(j, name)) wrong_field(j, name, "present");
  return j[name];
}

std::string text_field(const nlohmann::json& j, const char* name, std::string_view absent) {
  if (!has_field(j, name)) return std::string(absent);
  if (!j[name].is_string()) wrong_field(j, name, "a string");
  return j[name].get<std::string>();
}

bool bool_field(const nlohmann::json& j, const char* name, bool absent) {
  if (!has_field(j, name)) return absent;
  if (!j[name].is_boolean()) wrong_field(j, name, "true or false");
  return j[name].get<bool>();
}

std::int64_t integer_field(const nlohmann::json& j, const char* name, std::int64_t absent) {
  if (!has_field(j, name)) return absent;
  if (!j[name].is_number_integer()) wrong_field(j, name, "an integer");
  return j[name].get<std::int64_t>();
}

const nlohmann::json& array_field(const nlohmann::json& j, const char* name) {
  const nlohmann::json& value = required_field(j, name);
  if (!value.is_array()) wrong_field(j, name, "an array");
  return value;
}

}  // namespace tern::text
