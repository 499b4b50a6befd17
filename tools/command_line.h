// The whole command: its tree of subcommands and options, and the work of main().
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tools/command.h"

namespace CLI {
class App;
}

namespace tern {

/// The tree used for parsing, --help, manual pages and completion. `line` must outlive the tree.
std::unique_ptr<CLI::App> make_app(CommandLine& line);

/// Runs the words after "tern" in this process. Throws tern::Error; a command ending with findings returns their exit
/// status. `text` receives the output of export, verify and devices; the other commands print to standard output.
int run_for_text(const std::vector<std::string>& words, std::string* text);

/// Runs the command line; returns the exit status (exit_codes.h). Nothing is thrown.
int run_command_line(int argc, char** argv);

}  // namespace tern
