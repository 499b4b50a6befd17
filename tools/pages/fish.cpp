#include <fmt/format.h>

#include "tools/option_text.h"
#include "tools/pages/pages.h"

namespace tern {
namespace {

/// Fish takes \' inside single quotes.
std::string quote(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

/// Lines for the options; `where` holds the condition.
std::string lines(const CLI::App& root, const CLI::App& app, const std::string& where) {
  std::string out;
  for (const OptionText& o : options_of(app)) {
    const Candidates c = candidates_of(root, o.value);
    const std::string values = c.files ? " -F" : c.words.empty() ? "" : " -f -a " + quote(c.words);
    if (o.positional) {
      if (!values.empty()) out += "complete -c tern" + where + values + "\n";
      continue;
    }
    out += "complete -c tern" + where;
    for (const std::string& name : o.names)
      out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    if (!o.value.empty()) out += " -r" + (values.empty() ? std::string(" -f") : values);
    out += " -d " + quote(first_sentence(o.description)) + "\n";
  }
  return out;
}

}  // namespace

std::string fish_completion(const CLI::App& app) {
  std::string out = "# fish completion of tern; made by 'tern pages'\ncomplete -c tern -f\n";
  out += lines(app, app, "");
  for (const CLI::App* c : commands_of(app)) {
    out += fmt::format("complete -c tern -n __fish_use_subcommand -a {} -d {}\n", c->get_name(),
                       quote(c->get_description()));
    out += lines(app, *c, fmt::format(" -n '__fish_seen_subcommand_from {}'", c->get_name()));
  }
  return out;
}

}  // namespace tern
