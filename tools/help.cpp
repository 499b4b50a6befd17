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
  std::size_t column_count = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), column_count);
  if (!text.empty() && parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() && column_count > 0) {
    width = column_count;
  } else if (platform::is_console(1)) {
    width = terminal_columns(1);
  }
  return std::clamp(width, kMinWidth, kMaxWidth);
}

/// First column of descriptions.
std::size_t column_at(std::size_t width) {
  constexpr std::size_t kColumn = 28, kNarrowColumn = 8, kMinWideColumns = 72;
  return width < kMinWideColumns ? kNarrowColumn : kColumn;
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
  const std::size_t text_begin = is_row ? meaning : begin, indent = is_row ? meaning : begin + 4;
  return std::string(line.substr(0, text_begin)) + wrapped(line.substr(text_begin), indent, width);
}

std::string footer_text(std::string_view text, std::size_t width) {
  std::string help_text;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    help_text += line.starts_with(' ') ? wrapped_row(line, width) : wrapped(line, 0, width);
    help_text += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return help_text;
}

}  // namespace

std::string HelpFormatter::make_help(const CLI::App* app, std::string, CLI::AppFormatMode) const {
  const std::size_t width = help_width();
  const bool sub = app->get_parent() != nullptr;
  const std::string name = sub ? app->get_parent()->get_name() + " " + app->get_name() : app->get_name();
  std::string help_text =
      wrapped(app->get_description(), 0, width) + "\n\nUsage: " + name + " " + usage_of(*app) + "\n";
  std::string arguments;
  for (const OptionText& o : options_of(*app)) {
    if (o.positional) arguments += entry(o.synopsis(), description_of(o), width);
  }
  if (!arguments.empty()) help_text += "\nArguments:\n" + arguments;
  for (const OptionGroup& group : option_groups(*app)) {
    help_text += "\n" + group.heading + ":\n";
    for (const OptionText& o : group.options) help_text += entry(o.synopsis(), description_of(o), width);
  }
  if (!sub) {
    help_text += "\nCommands:\n";
    for (const CLI::App* command : commands_of(*app))
      help_text += entry(command->get_name(), command->get_description(), width);
  }
  return help_text + "\n" + footer_text(app->get_footer(), width);
}

}  // namespace tern
