#include <fmt/format.h>

#include "tools/exit_codes.h"
#include "tools/option_headings.h"
#include "tools/pages/footer.h"
#include "tools/pages/pages.h"

namespace tern {
namespace {

constexpr std::size_t kMarkdownWidth = 120;

constexpr const char* kIntroduction =
    "# The command\n\n"
    "This page lists the commands of `tern` with their options, and the exit status. `./dev command` writes the page "
    "from\n"
    "the command itself; do not edit it. `tern help COMMAND` and the manual pages say the same.\n\n";

/// Escapes text for Markdown: no character begins markup.
std::string escape(std::string_view text) {
  std::string escaped;
  for (const char character : text) {
    if (std::string_view("*<|`\\").find(character) != std::string_view::npos) escaped += '\\';
    escaped += character;
  }
  return escaped;
}

std::string paragraph(std::string_view text) {
  return wrapped(escape(text), 0, kMarkdownWidth) + "\n\n";
}

std::string list_item(const OptionText& o) {
  const std::string preset = o.preset.empty() ? "" : " (default: " + o.preset + ")";
  return "- " + wrapped(fmt::format("`{}`: {}", o.synopsis(), escape(o.description + preset)), 2, kMarkdownWidth) +
         "\n";
}

std::string footer(const CLI::App& app) {
  std::string text;
  for (const FooterPart& part : parts_of_footer(app.get_footer())) {
    if (part.kind == FooterPart::Kind::paragraph) text += paragraph(part.text);
    if (part.kind == FooterPart::Kind::verbatim) {
      text += (part.text.starts_with("tern ") ? "```sh\n" : "```text\n") + part.text + "\n```\n\n";
    }
  }
  return text;
}

std::string section(const CLI::App& app) {
  const std::string name = app.get_parent()->get_name() + " " + app.get_name();
  std::string page = fmt::format("## {}\n\n{}```sh\n{} {}\n```\n\n", name, paragraph(app.get_description() + "."), name,
                                 usage_of(app));
  for (const OptionText& o : options_of(app)) {
    if (o.positional) page += list_item(o);
  }
  const std::vector<OptionGroup> groups = option_groups(app);
  for (const OptionGroup& group : groups) {
    const bool only_help = group.options.size() == 1 && group.options[0].names.back() == "--help";
    if (groups.size() > 1 && !only_help) page += fmt::format("\n{}:\n\n", group.heading);
    for (const OptionText& o : group.options) {
      if (o.names.back() != "--help") page += list_item(o);  // shown once, above all commands
    }
  }
  return page + "\n" + footer(app);
}

}  // namespace

std::string markdown_page(const CLI::App& app) {
  std::string page = kIntroduction + footer(app) + "```sh\n" + app.get_name() + " " + usage_of(app) + "\n```\n\n";
  for (const OptionText& o : options_of(app)) page += list_item(o);
  page += "\n| command | purpose |\n|---|---|\n";
  for (const CLI::App* command : commands_of(app))
    page += fmt::format("| `{} {}` | {} |\n", app.get_name(), command->get_name(), escape(command->get_description()));
  page += "\n## Exit status\n\n| status | meaning |\n|---|---|\n";
  for (const ExitCode& code : exit_codes()) page += fmt::format("| {} | {} |\n", code.status, escape(code.meaning));
  page += "\n";
  for (const CLI::App* command : commands_of(app)) page += section(*command);
  page.pop_back();  // a single line break ends the page
  return page;
}

}  // namespace tern
