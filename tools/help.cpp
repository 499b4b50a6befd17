#include "tools/help.h"

#include <fmt/format.h>

#include "tools/option_text.h"

namespace tern {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kColumn = 28;  // where descriptions begin

/// "  --name VALUE      What it does"; a long name has a line of its own.
std::string entry(const std::string& name, const std::string& description) {
  const std::string text = wrapped(description, kColumn, kWidth);
  if (name.size() + 4 > kColumn) return "  " + name + "\n" + std::string(kColumn, ' ') + text + "\n";
  return "  " + name + std::string(kColumn - 2 - name.size(), ' ') + text + "\n";
}

std::string description_of(const OptionText& o) {
  return o.preset.empty() ? o.description : fmt::format("{} (default: {})", o.description, o.preset);
}

}  // namespace

std::string HelpFormatter::make_help(const CLI::App* app, std::string, CLI::AppFormatMode) const {
  const bool sub = app->get_parent() != nullptr;
  const std::string name = sub ? app->get_parent()->get_name() + " " + app->get_name() : app->get_name();
  std::string out = wrapped(app->get_description(), 0, kWidth) + "\n\nUsage: " + name + " " + usage_of(*app) + "\n";
  std::string arguments, options;
  for (const OptionText& o : options_of(*app))
    (o.positional ? arguments : options) += entry(o.synopsis(), description_of(o));
  if (!arguments.empty()) out += "\nArguments:\n" + arguments;
  out += "\nOptions:\n" + options;
  if (!sub) {
    out += "\nCommands:\n";
    for (const CLI::App* command : commands_of(*app)) out += entry(command->get_name(), command->get_description());
  }
  return out + "\n" + wrapped(app->get_footer(), 0, kWidth) + "\n";
}

}  // namespace tern
