#include <fmt/format.h>
#include <tern/version.h>

#include "tools/exit_codes.h"
#include "tools/option_headings.h"
#include "tools/pages/footer.h"
#include "tools/pages/pages.h"

namespace tern {
namespace {

/// Escapes text for roff: dashes stay dashes, and no line becomes a request.
std::string roff(std::string_view text) {
  std::string page;
  for (const char c : text) {
    if (c == '\\') {
      page += "\\e";
    } else if (c == '-') {
      page += "\\-";
    } else if ((c == '.' || c == '\'') && (page.empty() || page.back() == '\n')) {
      page += std::string("\\&") + c;
    } else {
      page += c;
    }
  }
  return page;
}

std::string option_entry(const OptionText& o) {
  std::string names;
  for (const std::string& name : o.names) names += (names.empty() ? "" : ", ") + name;
  std::string text = ".TP\n\\fB" + roff(o.positional ? o.synopsis() : names) + "\\fR";
  if (!o.positional && !o.value.empty()) text += " \\fI" + roff(o.value) + "\\fR";
  text += "\n" + roff(o.description);
  return text + (o.preset.empty() ? "" : " (default: " + roff(o.preset) + ")") + "\n";
}

std::string sections(std::string_view footer) {
  std::string page;
  bool notes = false;
  for (const FooterPart& part : parts_of_footer(footer)) {
    if (part.kind == FooterPart::Kind::examples) {
      page += ".SH EXAMPLES\n";
    } else if (part.kind == FooterPart::Kind::verbatim) {
      page += ".PP\n.RS\n.nf\n" + roff(part.text) + "\n.fi\n.RE\n";
    } else {
      page += (notes ? ".PP\n" : ".SH NOTES\n") + roff(part.text) + "\n";
      notes = true;
    }
  }
  return page;
}

}  // namespace

std::string man_page(const CLI::App& app) {
  const bool sub = app.get_parent() != nullptr;
  const CLI::App& root = sub ? *app.get_parent() : app;
  const std::string page = sub ? root.get_name() + "-" + app.get_name() : app.get_name();
  const std::string command = sub ? root.get_name() + " " + app.get_name() : app.get_name();
  std::string title = page;
  for (char& c : title) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::string man_text = fmt::format(".TH {} 1 \"\" \"tern {}\" \"Tern\"\n.SH NAME\n{} \\- {}\n", roff(title),
                                     TERN_VERSION_STRING, roff(page), roff(app.get_description()));
  man_text += fmt::format(".SH SYNOPSIS\n\\fB{}\\fR {}\n", roff(command), roff(usage_of(app)));
  std::string arguments, options;
  for (const OptionText& o : options_of(app)) {
    if (o.positional) arguments += option_entry(o);
  }
  const std::vector<OptionGroup> groups = option_groups(app);
  for (const OptionGroup& group : groups) {
    if (groups.size() > 1) options += ".SS " + roff(group.heading) + "\n";
    for (const OptionText& o : group.options) options += option_entry(o);
  }
  if (!arguments.empty()) man_text += ".SH ARGUMENTS\n" + arguments;
  man_text += ".SH OPTIONS\n" + options;
  std::string also;
  if (!sub) {
    man_text += ".SH COMMANDS\n";
    for (const CLI::App* c : commands_of(app)) {
      man_text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(c->get_name()), roff(c->get_description()));
      also += fmt::format("{}.BR {}\\-{} (1)", also.empty() ? "" : ",\n", roff(root.get_name()), roff(c->get_name()));
    }
  }
  man_text += sections(app.get_footer()) + ".SH EXIT STATUS\n";
  for (const ExitCode& code : exit_codes()) man_text += fmt::format(".TP\n{}\n{}\n", code.status, roff(code.meaning));
  return man_text + ".SH SEE ALSO\n" + (sub ? ".BR tern (1)" : also) + "\n";
}

}  // namespace tern
