// Headings for the options of commands that have many: --help, manual pages and docs/command.md group by them.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "tools/option_text.h"

namespace tern {

struct OptionGroup {
  std::string heading;
  std::vector<OptionText> options;
};

/// The options of the command (no positional arguments), in groups. Those without a heading come last, under "Options";
/// a command of few options has that group alone.
std::vector<OptionGroup> option_groups(const CLI::App& app);

}  // namespace tern
