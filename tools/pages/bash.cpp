#include <fmt/format.h>

#include "tools/option_text.h"
#include "tools/pages/pages.h"

namespace tern {
namespace {

std::string joined(const std::vector<std::string>& names, const char* separator) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : separator) + name;
  return text;
}

/// Completion branches on the option before the word. Patterns of a command come first.
std::string value_branches(const CLI::App& root, const CLI::App& app, const std::string& prefix) {
  std::string script;
  for (const OptionText& o : options_of(app)) {
    if (o.positional || o.value.empty()) continue;
    std::vector<std::string> patterns;
    for (const std::string& name : o.names) patterns.push_back(prefix + name);
    const Candidates c = candidates_of(root, o.value);
    const std::string action = c.files           ? "COMPREPLY=($(compgen -f -- \"$cur\"))"
                               : c.words.empty() ? ":"
                                                 : "COMPREPLY=($(compgen -W '" + c.words + "' -- \"$cur\"))";
    script += fmt::format("    {}) {}; return ;;\n", joined(patterns, " | "), action);
  }
  return script;
}

std::string option_names(const CLI::App& app) {
  std::string script;
  for (const OptionText& o : options_of(app)) {
    if (!o.positional) script += (script.empty() ? "" : " ") + joined(o.names, " ");
  }
  return script;
}

}  // namespace

std::string bash_completion(const CLI::App& app) {
  std::string branches, options, arguments;
  for (const CLI::App* c : commands_of(app)) {
    branches += value_branches(app, *c, c->get_name() + ":");
    options += fmt::format("    {}) options='{}' ;;\n", c->get_name(), option_names(*c));
    for (const OptionText& o : options_of(*c)) {
      if (!o.positional) continue;
      const Candidates candidates = candidates_of(app, o.value);
      if (candidates.files)
        arguments += fmt::format("    {}) COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n", c->get_name());
      if (!candidates.words.empty())
        arguments +=
            fmt::format("    {}) COMPREPLY=($(compgen -W '{}' -- \"$cur\")) ;;\n", c->get_name(), candidates.words);
    }
  }
  const std::string commands = candidates_of(app, "COMMAND").words;
  return "# bash completion of tern; made by 'tern pages'\n"
         "# shellcheck shell=bash disable=SC2207\n"
         "_tern() {\n"
         "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command='' options='' i\n"
         "  COMPREPLY=()\n"
         "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "    case ${COMP_WORDS[i]} in\n"
         "      --ops) ((i++)) ;;\n"
         "      -*) ;;\n"
         "      *) command=${COMP_WORDS[i]} && break ;;\n"
         "    esac\n"
         "  done\n"
         "  case $command:$prev in\n" +
         value_branches(app, app, "*:") + branches +
         "  esac\n"
         "  if [[ -z $command ]]; then\n"
         "    COMPREPLY=($(compgen -W '" +
         commands + " " + option_names(app) +
         "' -- \"$cur\"))\n"
         "    return\n"
         "  fi\n"
         "  case $command in\n" +
         options +
         "  esac\n"
         "  if [[ $cur == -?* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$options --ops\" -- \"$cur\"))\n"
         "    return\n"
         "  fi\n"
         "  case $command in\n" +
         arguments +
         "  esac\n"
         "}\n"
         "complete -o filenames -F _tern tern\n";
}

}  // namespace tern
