#include "tools/annotate.h"

#include <fmt/format.h>
#include <fnmatch.h>
#include <tern/error.h>

#include <algorithm>
#include <charconv>

#include "tools/text.h"

namespace tern {
namespace {

template <class T>
bool parse(std::string_view text, T* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

bool matches(const std::string& pattern, const std::string& text) {
  return !text.empty() && ::fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

}  // namespace

Annotation parse_annotation(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    fail(ErrorCode::invalid_argument, fmt::format("'{}' is not KEY=VALUE", escape_name(text)));
  }
  Annotation a{std::string(text.substr(0, equals)), {}};
  const std::string_view value = text.substr(equals + 1);
  std::int64_t integer = 0;
  double number = 0;
  if (value == "true" || value == "false") {
    a.value = value == "true";
  } else if (parse(value, &integer)) {
    a.value = integer;
  } else if (parse(value, &number)) {
    a.value = number;
  } else if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
    a.value = std::string(value.substr(1, value.size() - 2));
  } else {
    a.value = std::string(value);
  }
  return a;
}

std::size_t annotate(Program& program, const std::string& pattern, const Annotation& annotation) {
  std::vector<bool> origin_matches;
  for (const Origin& o : program.origins)
    origin_matches.push_back(matches(pattern, o.module) || matches(pattern, o.op));
  std::size_t count = 0;
  for (Function& f : program.functions) {
    for (Node& n : f.nodes) {
      const auto origin = static_cast<std::size_t>(n.origin);
      const bool hit = (n.origin >= 0 && origin < origin_matches.size() && origin_matches[origin]) ||
                       matches(pattern, std::string(op_name(n.op)));
      if (!hit) continue;
      ++count;
      const auto same = std::ranges::find(n.annotations, annotation.key, &Annotation::key);
      if (same != n.annotations.end()) {
        same->value = annotation.value;
      } else {
        n.annotations.push_back(annotation);
      }
    }
  }
  return count;
}

}  // namespace tern
