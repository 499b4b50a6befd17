// --help: as wide as the terminal, and options under headings.
#include "tools/help.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "tools/command_line.h"
#include "tools/option_headings.h"
#include "tools/text.h"

namespace tern {
namespace {

std::string help_of(const CLI::App& app, const char* columns) {
  setenv("COLUMNS", columns, 1);
  std::string text = HelpFormatter().make_help(&app, "", CLI::AppFormatMode::Normal);
  unsetenv("COLUMNS");
  return text;
}

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(' ', line.find_first_not_of(' ')) != std::string::npos)  // a single word cannot be divided
      longest = std::max(longest, display_width(line));
  }
  return longest;
}

TEST(Help, FollowsTheWidth) {
  CommandLine line;
  const auto app = make_app(line);
  for (const CLI::App* command : commands_of(*app)) {
    EXPECT_LE(longest_line(help_of(*command, "60")), 60u) << command->get_name();
    EXPECT_LE(longest_line(help_of(*command, "120")), 120u) << command->get_name();
  }
  const CLI::App& run = *find_command(*app, "run");
  EXPECT_GT(longest_line(help_of(run, "160")), 120u);
  // No terminal, and no number.
  EXPECT_EQ(help_of(run, ""), help_of(run, "80"));
  EXPECT_EQ(help_of(run, "wide"), help_of(run, "80"));
  EXPECT_EQ(help_of(run, "1"), help_of(run, "40"));
}

TEST(Help, ManyOptionsHaveHeadings) {
  CommandLine line;
  const auto app = make_app(line);
  for (const CLI::App* command : commands_of(*app)) {
    const std::vector<OptionGroup> groups = option_groups(*command);
    std::size_t options = 0, positional = 0;
    for (const OptionGroup& g : groups) options += g.options.size();
    for (const OptionText& o : options_of(*command)) positional += o.positional ? 1 : 0;
    EXPECT_EQ(options + positional, options_of(*command).size()) << command->get_name() << ": each once";
    if (options <= 12) {
      EXPECT_EQ(groups.size(), 1u) << command->get_name();
      continue;
    }
    EXPECT_GT(groups.size(), 2u) << command->get_name();
    ASSERT_EQ(groups.back().heading, "Options") << command->get_name();
    for (const OptionText& o : groups.back().options)
      EXPECT_EQ(o.names.back(), "--help") << command->get_name() << ": a line in tools/option_headings.cpp";
  }
}

}  // namespace
}  // namespace tern
