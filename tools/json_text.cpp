#include "tools/json_text.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tools/text.h"

namespace tern {
namespace {

using Json = nlohmann::ordered_json;

void append_text(std::string& json, std::string_view text) {
  json += '"';
  json += json_escape(text);
  json += '"';
}

/// `indent`: spaces before each line of a list of objects.
void append_json(std::string& json, const Json& value, std::size_t indent) {
  const char* separator = "";
  if (value.is_object()) {
    json += '{';
    for (const auto& [key, member] : value.items()) {
      json += separator;
      append_text(json, key);
      json += ": ";
      append_json(json, member, indent);
      separator = ", ";
    }
    json += '}';
  } else if (value.is_array()) {
    const bool has_lines = !value.empty() && value.front().is_object();
    const std::string next_line = has_lines ? "\n" + std::string(indent, ' ') : " ";
    json += '[';
    for (const Json& item : value) {
      json += separator;
      if (has_lines || *separator != '\0') json += next_line;
      append_json(json, item, indent + 2);
      separator = ",";
    }
    json += ']';
  } else if (value.is_string()) {
    append_text(json, value.get_ref<const std::string&>());
  } else if (value.is_number_float() && std::isfinite(value.get<double>())) {
    json += fmt::format("{}", value.get<double>());  // whole numbers without ".0"
  } else {
    json += value.dump();
  }
}

}  // namespace

std::string json_text(const Json& value) {
  std::string json;
  append_json(json, value, 2);
  return json;
}

Json json_number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json json_rounded(double value, int decimals) {
  if (decimals == 0 && std::fabs(value) < 0x1p63) return static_cast<std::int64_t>(std::nearbyint(value));
  return json_number(std::strtod(fmt::format("{:.{}f}", value, decimals).c_str(), nullptr));
}

}  // namespace tern
