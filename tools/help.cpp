#include "tools/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "platform/console.h"
#include "platform/environment.h"
#include "tools/option_headings.h"
#include "tools/terminal.h"
#include "tools/text.h"

namespace tern {
namespace {

constexpr std::size_t kMinWidth = 40, kMaxWidth = 1000, kDefaultWidth = 80;

/// COLUMNS, else the terminal's columns; 80 without a terminal.
std::size_t help_width() {
  std::size_t width = kDefaultWidth;
  const std::string text = platform::trusted_variable("COLUMNS").value_or("");
  std::size_t given = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), given);
  if (!text.empty() && read.ec == std::errc() && read.ptr == text.data() + text.size() && given > 0) {
    width = given;
  } else if (platform::is_console(1)) {
    width = terminal_columns(1);
  }
  return std::clamp(width, kMinWidth, kMaxWidth);
}

/// First column of descriptions.
std::size_t column_at(std::size_t width) {
  constexpr std::size_t kColumn = 28, kNarrowColumn = 8, kNarrow = 72;
  return width < kNarrow ? kNarrowColumn : kColumn;
}

/// "  --name VALUE      Description"; a long name has a line of its own.
std::string entry(const std::string& name, const std::string& description, std::size_t width) {
  const std::size_t column = column_at(width);
  const std::string text = wrapped(description, column, width);
  if (name.size() + 4 > column) return "  " + wrapped(name, 4, width) + "\n" + std::string(column, ' ') + text + "\n";
  return "  " + name + std::string(column - 2 - name.size(), ' ') + text + "\n";
}

std::string description_of(const OptionText& o) {
  return o.preset.empty() ? o.description : fmt::format("{} (default: {})", o.description, o.preset);
}

/// Wraps a long table row "  term   meaning" below its meaning; an example continues indented.
std::string wrapped_row(std::string_view line, std::size_t width) {
  if (display_width(line) <= width) return std::string(line);
  const std::size_t begin = line.find_first_not_of(' ');
  const std::size_t gap = line.find("  ", begin);
  const std::size_t meaning = gap == std::string_view::npos ? gap : line.find_first_not_of(' ', gap);
  const bool is_row = meaning != std::string_view::npos && meaning + 20 <= width;
  const std::size_t from = is_row ? meaning : begin, indent = is_row ? meaning : begin + 4;
  return std::string(line.substr(0, from)) + wrapped(line.substr(from), indent, width);
}

std::string footer_text(std::string_view text, std::size_t width) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    out += line.starts_with(' ') ? wrapped_row(line, width) : wrapped(line, 0, width);
    out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace

std::string HelpFormatter::make_help(const CLI::App* app, std::string, CLI::AppFormatMode) const {
  const std::size_t width = help_width();
  const bool sub = app->get_parent() != nullptr;
  const std::string name = sub ? app->get_parent()->get_name() + " " + app->get_name() : app->get_name();
  std::string out = wrapped(app->get_description(), 0, width) + "\n\nUsage: " + name + " " + usage_of(*app) + "\n";
  std::string arguments;
  for (const OptionText& o : options_of(*app)) {
    if (o.positional) arguments += entry(o.synopsis(), description_of(o), width);
  }
  if (!arguments.empty()) out += "\nArguments:\n" + arguments;
  for (const OptionGroup& group : option_groups(*app)) {
    out += "\n" + group.heading + ":\n";
    for (const OptionText& o : group.options) out += entry(o.synopsis(), description_of(o), width);
  }
  if (!sub) {
    out += "\nCommands:\n";
    for (const CLI::App* command : commands_of(*app))
      out += entry(command->get_name(), command->get_description(), width);
  }
  return out + "\n" + footer_text(app->get_footer(), width);
}

}  // namespace tern
