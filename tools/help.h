// Layout of --help: usage, arguments, options in groups with their values and presets, then examples and notes. The
// width is COLUMNS or the terminal's, 80 columns elsewhere.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tern {

class HelpFormatter final : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
};

}  // namespace tern
