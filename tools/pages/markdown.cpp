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
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("*<|`\\").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string paragraph(std::string_view text) {
  return wrapped(plain(text), 0, kMarkdownWidth) + "\n\n";
}

std::string entry(const OptionText& o) {
  const std::string preset = o.preset.empty() ? "" : " (default: " + o.preset + ")";
  return "- " + wrapped(fmt::format("`{}`: {}", o.synopsis(), plain(o.description + preset)), 2, kMarkdownWidth) + "\n";
}

std::string footer(const CLI::App& app) {
  std::string out;
  for (const FooterPart& part : parts_of_footer(app.get_footer())) {
    if (part.kind == FooterPart::Kind::paragraph) out += paragraph(part.text);
    if (part.kind == FooterPart::Kind::verbatim) {
      out += (part.text.starts_with("tern ") ? "```sh\n" : "```text\n") + part.text + "\n```\n\n";
    }
  }
  return out;
}

std::string section(const CLI::App& app) {
  const std::string name = app.get_parent()->get_name() + " " + app.get_name();
  std::string out = fmt::format("## {}\n\n{}```sh\n{} {}\n```\n\n", name, paragraph(app.get_description() + "."), name,
                                usage_of(app));
  for (const OptionText& o : options_of(app)) {
    if (o.positional) out += entry(o);
  }
  const std::vector<OptionGroup> groups = option_groups(app);
  for (const OptionGroup& group : groups) {
    const bool only_help = group.options.size() == 1 && group.options[0].names.back() == "--help";
    if (groups.size() > 1 && !only_help) out += fmt::format("\n{}:\n\n", group.heading);
    for (const OptionText& o : group.options) {
      if (o.names.back() != "--help") out += entry(o);  // shown once, above all commands
    }
  }
  return out + "\n" + footer(app);
}

}  // namespace

std::string markdown_page(const CLI::App& app) {
  std::string out = kIntroduction + footer(app) + "```sh\n" + app.get_name() + " " + usage_of(app) + "\n```\n\n";
  for (const OptionText& o : options_of(app)) out += entry(o);
  out += "\n| command | purpose |\n|---|---|\n";
  for (const CLI::App* c : commands_of(app))
    out += fmt::format("| `{} {}` | {} |\n", app.get_name(), c->get_name(), plain(c->get_description()));
  out += "\n## Exit status\n\n| status | meaning |\n|---|---|\n";
  for (const ExitCode& code : exit_codes()) out += fmt::format("| {} | {} |\n", code.status, plain(code.meaning));
  out += "\n";
  for (const CLI::App* c : commands_of(app)) out += section(*c);
  out.pop_back();  // a single line break ends the page
  return out;
}

}  // namespace tern
