// Headings for the options of commands with many options: --help, manual pages and docs/command.md group options by
// heading.
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

/// The options of the command (no positional arguments), in groups. Options without a heading come last, under
/// "Options"; a command with few options has only this group.
std::vector<OptionGroup> option_groups(const CLI::App& app);

}  // namespace tern
