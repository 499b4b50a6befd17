#include "tools/annotate.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <charconv>

#include "schema/node_pattern.h"
#include "tools/text.h"

namespace tern {
namespace {

template <class T>
bool parse_number(std::string_view text, T* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
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
  } else if (parse_number(value, &integer)) {
    a.value = integer;
  } else if (parse_number(value, &number)) {
    a.value = number;
  } else if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
    a.value = std::string(value.substr(1, value.size() - 2));
  } else {
    a.value = std::string(value);
  }
  return a;
}

std::size_t annotate(Program& program, const std::string& pattern, const Annotation& annotation) {
  std::size_t count = 0;
  for (Function& f : program.functions) {
    for (Node& n : f.nodes) {
      if (!matches(program, n, pattern)) continue;
      ++count;
      const auto existing = std::ranges::find(n.annotations, annotation.key, &Annotation::key);
      if (existing != n.annotations.end()) {
        existing->value = annotation.value;
      } else {
        n.annotations.push_back(annotation);
      }
    }
  }
  return count;
}

}  // namespace tern
