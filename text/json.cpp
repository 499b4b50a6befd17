#include "text/json.h"

#include <fmt/format.h>
#include <tern/error.h>

namespace tern::text {
namespace {

/// Fails if brackets outside strings nest too deep: parsers and destructors recurse.
void check_json_depth(std::string_view text, std::string_view subject) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > kMaxJsonDepth)
      fail(ErrorCode::bad_file, fmt::format("{} nests more than {} deep", subject, kMaxJsonDepth));
  }
}

template <class J>
J parse_checked(std::string_view text, std::string_view subject) {
  check_json_depth(text, subject);
  try {
    return J::parse(text);
  } catch (const nlohmann::json::exception& e) {
    fail(ErrorCode::bad_file, fmt::format("{} is not JSON: {}", subject, e.what()));
  }
}

}  // namespace

nlohmann::ordered_json parse_ordered_json(std::string_view text, std::string_view subject) {
  return parse_checked<nlohmann::ordered_json>(text, subject);
}

nlohmann::json parse_json(std::string_view text, std::string_view subject) {
  return parse_checked<nlohmann::json>(text, subject);
}

}  // namespace tern::text
