// The whole command: its tree of subcommands and options, and what main() does with a command line.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "tools/command.h"

namespace tern {

/// The tree that parses, and that --help, manual pages and completion are made from. `line` outlives it.
std::unique_ptr<CLI::App> make_app(CommandLine& line);

/// Runs the words after "tern" in this process. Throws tern::Error; a command that ends with findings returns their
/// exit status. What export, verify and devices print is in `text`; the other commands print to standard output.
int run_for_text(const std::vector<std::string>& words, std::string* text);

/// Runs the command line; returns the exit status (exit_codes.h). Nothing is thrown.
int run_command_line(int argc, char** argv);

}  // namespace tern
