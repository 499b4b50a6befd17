#include "tools/name_sizes.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <set>

#include "tools/names.h"
#include "tools/sizes.h"
#include "tools/text.h"

namespace tern {
namespace {

constexpr std::size_t kMostLetters = 64;

bool is_identifier(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return !name.empty() && name.size() <= kMostLetters && letter(name[0]) &&
         std::ranges::all_of(name, [&](char c) { return letter(c) || digit(c); });
}

}  // namespace

void name_sizes(Program& program, const std::vector<std::string>& texts) {
  if (texts.empty()) return;
  const std::vector<std::string> before = size_names(program);
  std::vector<Symbol> symbols = program.pool.symbols();
  std::set<std::string> renamed, names;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const std::string old = text.substr(0, equals);
    const std::string name = equals == std::string::npos ? std::string() : text.substr(equals + 1);
    const auto refuse = [&](const std::string& why) {
      fail(ErrorCode::invalid_argument, fmt::format("--name-size {}: {}", escape_name(text), why));
    };
    if (!is_identifier(name))
      refuse(fmt::format("give OLD=NEW, where NEW has letters, digits and _ and begins with no digit, at most {}",
                         kMostLetters));
    const auto found = std::ranges::find(before, old);
    if (found == before.end()) refuse(unknown_name("symbolic size", old, before));
    if (!renamed.insert(old).second) refuse(fmt::format("'{}' is renamed twice", escape_name(old)));
    symbols[static_cast<std::size_t>(found - before.begin())].name = name;
  }
  for (const Symbol& s : symbols) {
    if (!names.insert(s.name).second)
      fail(ErrorCode::invalid_argument, fmt::format("--name-size: two sizes would be named '{}'", escape_name(s.name)));
  }
  program.pool.assign(std::vector<ExprNode>(program.pool.nodes()), std::move(symbols));
}

}  // namespace tern
