// The parts of a tokenizer_config.json that Tern reads.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tern::text {

struct Configuration {
  std::map<std::string, std::string, std::less<>> special_tokens;  ///< "bos_token": "<s>"
  std::optional<bool> add_bos, add_eos;
  std::map<std::string, std::string, std::less<>> chat_templates;  ///< templates by name; "default" if there is but one
};

/// An empty text gives an empty configuration. Throws bad_file for a text that is not JSON.
Configuration read_configuration(std::string_view text);

}  // namespace tern::text
