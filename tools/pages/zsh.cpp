#include <fmt/format.h>

#include "tools/option_text.h"
#include "tools/pages/pages.h"

namespace tern {
namespace {

/// Inside [...] and between colons of _arguments.
std::string escaped(const std::string& text) {
  std::string script;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') script += '\\';
    script += c;
  }
  return script;
}

std::string action_of(const CLI::App& root, const std::string& value) {
  const Candidates c = candidates_of(root, value);
  return c.files ? "_files" : c.words.empty() ? " " : "(" + escaped(c.words) + ")";
}

/// A line for each name of an option: '*--name[description]:VALUE:_files'.
std::string specs(const CLI::App& root, const CLI::App& app) {
  std::string script;
  for (const OptionText& o : options_of(app)) {
    const std::string value = escaped(o.value);
    if (o.positional) {
      script += " \\\n        " +
                shell_quoted(fmt::format("{}:{}:{}", o.repeats ? "*" : "", value, action_of(root, o.value)));
      continue;
    }
    for (const std::string& name : o.names) {
      std::string spec = fmt::format("{}{}[{}]", o.repeats ? "*" : "", name, escaped(first_sentence(o.description)));
      if (!o.value.empty()) spec += fmt::format(":{}:{}", value, action_of(root, o.value));
      script += " \\\n        " + shell_quoted(spec);
    }
  }
  return script;
}

}  // namespace

std::string zsh_completion(const CLI::App& app) {
  std::string commands, branches;
  for (const CLI::App* c : commands_of(app)) {
    commands += "    " + shell_quoted(c->get_name() + ":" + escaped(c->get_description())) + "\n";
    branches += fmt::format("      {})\n      _arguments{} ;;\n", c->get_name(), specs(app, *c));
  }
  return "#compdef tern\n"
         "# zsh completion of tern; made by 'tern pages'\n"
         "_tern() {\n"
         "  local curcontext=$curcontext state line\n"
         "  local -a commands\n"
         "  commands=(\n" +
         commands +
         "  )\n"
         "  _arguments -C" +
         specs(app, app) +
         " \\\n        '1:command:->command' '*::argument:->argument'\n"
         "  case $state in\n"
         "    command) _describe command commands ;;\n"
         "    argument)\n"
         "      case $words[1] in\n" +
         branches +
         "      esac ;;\n"
         "  esac\n"
         "}\n"
         "_tern \"$@\"\n";
}

}  // namespace tern
