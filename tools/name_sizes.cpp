#include "tools/name_sizes.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "tools/names.h"
#include "tools/sizes.h"
#include "tools/text.h"

namespace tern {
namespace {

constexpr std::size_t kNameSizesMostLetters = 64;

bool is_identifier(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return !name.empty() && name.size() <= kNameSizesMostLetters && letter(name[0]) &&
         std::ranges::all_of(name, [&](char c) { return letter(c) || digit(c); });
}

/// Replaces a whole name in a relation: "x.shape[1]", but not in "max.shape[1]".
void replace_name(std::string& text, const std::string& old_name, const std::string& name) {
  const auto in_name = [](char c) { return is_identifier({&c, 1}) || (c >= '0' && c <= '9') || c == '.'; };
  for (std::size_t at = text.find(old_name); at != std::string::npos; at = text.find(old_name, at)) {
    const std::size_t end = at + old_name.size();
    if ((at > 0 && in_name(text[at - 1])) || (end < text.size() && (in_name(text[end]) || text[end] == '['))) {
      ++at;
      continue;
    }
    text.replace(at, old_name.size(), name);
    at += name.size();
  }
}

/// Rewrites the program's assumed relations of inputs with the new names.
void rename_relations(Program& program, const std::set<std::size_t>& renamed) {
  for (Function& f : program.functions) {
    for (Node& n : f.nodes) {
      if (n.op != Op::assert_dim || !n.has(AttrKey::sizes)) continue;
      std::string text = n.text(AttrKey::text), names;
      std::istringstream lines(n.text(AttrKey::name));
      std::string line;
      for (const Dim size : n.dims(AttrKey::sizes)) {
        std::getline(lines, line);
        const int symbol = program.pool.symbol_of(size);
        if (symbol >= 0 && renamed.contains(static_cast<std::size_t>(symbol))) {
          const std::string& name = program.pool.symbols()[static_cast<std::size_t>(symbol)].name;
          replace_name(text, line, name);
          line = name;
        }
        names += (names.empty() ? "" : "\n") + line;
      }
      n.set(AttrKey::text, text);
      n.set(AttrKey::name, names);
    }
  }
}

}  // namespace

void name_sizes(Program& program, const std::vector<std::string>& texts) {
  if (texts.empty()) return;
  const std::vector<std::string> old_names = size_names(program);
  std::vector<Symbol> symbols = program.pool.symbols();
  std::set<std::string> renamed, names;
  std::set<std::size_t> numbers;  // renamed symbols
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const std::string old_name = text.substr(0, equals);
    const std::string name = equals == std::string::npos ? std::string() : text.substr(equals + 1);
    const auto refuse = [&](const std::string& reason) {
      fail(ErrorCode::invalid_argument, fmt::format("--name-size {}: {}", escape_name(text), reason));
    };
    if (!is_identifier(name))
      refuse(fmt::format(
          "give OLD=NEW, where NEW has letters, digits and _, does not start with a digit, and has at most {}",
          kNameSizesMostLetters));
    const auto found = std::ranges::find(old_names, old_name);
    if (found == old_names.end()) refuse(unknown_name("symbolic size", old_name, old_names));
    if (!renamed.insert(old_name).second) refuse(fmt::format("'{}' is renamed twice", escape_name(old_name)));
    symbols[static_cast<std::size_t>(found - old_names.begin())].name = name;
    numbers.insert(static_cast<std::size_t>(found - old_names.begin()));
  }
  for (const Symbol& s : symbols) {
    if (!names.insert(s.name).second)
      fail(ErrorCode::invalid_argument, fmt::format("--name-size: two sizes would be named '{}'", escape_name(s.name)));
  }
  program.pool.assign(std::vector<ExprNode>(program.pool.nodes()), std::move(symbols));
  rename_relations(program, numbers);
}

}  // namespace tern
