#include "tools/json_text.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tools/text.h"

namespace tern {
namespace {

using Json = nlohmann::ordered_json;

void append_text(std::string& out, std::string_view text) {
  out += '"';
  out += json_escape(text);
  out += '"';
}

/// `indent`: spaces before each line of a list of objects.
void append_json(std::string& out, const Json& value, std::size_t indent) {
  const char* separator = "";
  if (value.is_object()) {
    out += '{';
    for (const auto& [key, member] : value.items()) {
      out += separator;
      append_text(out, key);
      out += ": ";
      append_json(out, member, indent);
      separator = ", ";
    }
    out += '}';
  } else if (value.is_array()) {
    const bool has_lines = !value.empty() && value.front().is_object();
    const std::string next_line = has_lines ? "\n" + std::string(indent, ' ') : " ";
    out += '[';
    for (const Json& item : value) {
      out += separator;
      if (has_lines || *separator != '\0') out += next_line;
      append_json(out, item, indent + 2);
      separator = ",";
    }
    out += ']';
  } else if (value.is_string()) {
    append_text(out, value.get_ref<const std::string&>());
  } else if (value.is_number_float() && std::isfinite(value.get<double>())) {
    out += fmt::format("{}", value.get<double>());  // whole numbers without ".0"
  } else {
    out += value.dump();
  }
}

}  // namespace

std::string json_text(const Json& value) {
  std::string out;
  append_json(out, value, 2);
  return out;
}

Json json_number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json json_rounded(double value, int decimals) {
  if (decimals == 0 && std::fabs(value) < 0x1p63) return static_cast<std::int64_t>(std::nearbyint(value));
  return json_number(std::strtod(fmt::format("{:.{}f}", value, decimals).c_str(), nullptr));
}

}  // namespace tern
