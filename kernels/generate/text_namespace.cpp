#include "kernels/generate/text_namespace.h"

#include <fmt/format.h>

#include <set>
#include <string_view>

namespace tern::generate {
namespace {

std::set<std::string> macros_of(const std::string& text) {
  constexpr std::string_view define = "#define ";
  std::set<std::string> names;
  for (std::size_t at = text.find(define); at != std::string::npos; at = text.find(define, at + 1)) {
    const std::size_t begin = at + define.size();
    names.insert(text.substr(begin, text.find_first_of(" (\n", begin) - begin));
  }
  names.erase("TERN_ENTRY");
  return names;
}

}  // namespace

std::string wrap_in_namespace(const Text& text, std::size_t number) {
  std::string body = fmt::format("namespace text_{} {{\n{}\n}}\n", number, text.text);
  for (const std::string& name : macros_of(text.text)) body += "#undef " + name + "\n";
  return body;
}

}  // namespace tern::generate
