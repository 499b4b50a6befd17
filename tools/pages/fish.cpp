#include <fmt/format.h>

#include "tools/option_text.h"
#include "tools/pages/pages.h"

namespace tern {
namespace {

/// Fish takes \' inside single quotes.
std::string quote(const std::string& text) {
  std::string script = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') script += '\\';
    script += c;
  }
  return script + "'";
}

/// Lines for the options; `condition`: option -n of `complete`, or empty.
std::string lines(const CLI::App& root, const CLI::App& app, const std::string& condition) {
  std::string script;
  for (const OptionText& o : options_of(app)) {
    const Candidates c = candidates_of(root, o.value);
    const std::string values = c.files ? " -F" : c.words.empty() ? "" : " -f -a " + quote(c.words);
    if (o.positional) {
      if (!values.empty()) script += "complete -c tern" + condition + values + "\n";
      continue;
    }
    script += "complete -c tern" + condition;
    for (const std::string& name : o.names)
      script += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    if (!o.value.empty()) script += " -r" + (values.empty() ? std::string(" -f") : values);
    script += " -d " + quote(first_sentence(o.description)) + "\n";
  }
  return script;
}

}  // namespace

std::string fish_completion(const CLI::App& app) {
  std::string script = "# fish completion of tern; made by 'tern pages'\ncomplete -c tern -f\n";
  script += lines(app, app, "");
  for (const CLI::App* c : commands_of(app)) {
    script += fmt::format("complete -c tern -n __fish_use_subcommand -a {} -d {}\n", c->get_name(),
                          quote(c->get_description()));
    script += lines(app, *c, fmt::format(" -n '__fish_seen_subcommand_from {}'", c->get_name()));
  }
  return script;
}

}  // namespace tern
