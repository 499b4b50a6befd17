#include "text/configuration.h"

#include <tern/error.h>

#include "text/json.h"

namespace tern::text {
namespace {

/// Text of a token: a string, or an object with a field "content".
std::optional<std::string> token_text(const nlohmann::json& j) {
  if (j.is_string()) return j.get<std::string>();
  if (!j.is_object()) return {};
  const auto content = j.find("content");
  return content != j.end() && content->is_string() ? std::optional(content->get<std::string>()) : std::nullopt;
}

}  // namespace

Configuration read_configuration(std::string_view text) {
  Configuration c;
  if (text.empty()) return c;
  const nlohmann::json j = parse_json(text, "tokenizer_config.json");
  if (!j.is_object()) fail(ErrorCode::bad_file, "tokenizer_config.json is not a JSON object");
  for (const auto& [key, value] : j.items()) {
    if (!key.ends_with("_token")) continue;
    if (const auto token = token_text(value)) c.special_tokens[key] = *token;
  }
  const auto flag = [&](const char* name) {
    const auto found = j.find(name);
    return found != j.end() && found->is_boolean() ? std::optional(found->get<bool>()) : std::nullopt;
  };
  c.add_bos = flag("add_bos_token");
  c.add_eos = flag("add_eos_token");
  const auto templates = j.find("chat_template");
  if (templates == j.end()) return c;
  if (templates->is_string()) c.chat_templates["default"] = templates->get<std::string>();
  if (!templates->is_array()) return c;
  for (const auto& each : *templates) {
    const bool is_named = each.is_object() && each.contains("name") && each["name"].is_string() &&
                          each.contains("template") && each["template"].is_string();
    if (is_named) c.chat_templates[each["name"].get<std::string>()] = each["template"].get<std::string>();
  }
  return c;
}

}  // namespace tern::text
