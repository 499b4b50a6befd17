// Fields of a tokenizer's components in JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace tern::text {

/// Value of a field, or `absent` if the field is missing or null. Throws bad_file for a field of another type.
std::string text_field(const nlohmann::json& j, const char* name, std::string_view absent = {});
bool bool_field(const nlohmann::json& j, const char* name, bool absent);
std::int64_t integer_field(const nlohmann::json& j, const char* name, std::int64_t absent);
/// True if the field is there and not null.
bool has_field(const nlohmann::json& j, const char* name);
/// Value of a field that must be there.
const nlohmann::json& required_field(const nlohmann::json& j, const char* name);
/// Elements of an array; throws bad_file for another type.
const nlohmann::json& array_field(const nlohmann::json& j, const char* name);

}  // namespace tern::text
