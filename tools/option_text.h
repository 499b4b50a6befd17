// What the options of a command are, read from CLI11's tree: the one source of --help, manual pages and completion.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tern {

struct OptionText {
  std::vector<std::string> names;  ///< "-o", "--output"; of a positional argument its name: "model"
  std::string value;               ///< "FILE"; empty for a flag
  std::string description;
  std::string preset;  ///< the value that holds when the option is not given; empty where there is none to show
  bool positional = false, required = false, repeats = false;

  /// "-o, --output FILE"
  std::string synopsis() const;
};

/// Positional arguments first, then options in the order of their definition; hidden ones are left out.
std::vector<OptionText> options_of(const CLI::App& app);

/// The subcommands that are shown.
std::vector<const CLI::App*> commands_of(const CLI::App& app);

/// "[OPTIONS] MODEL": what follows the command's name.
std::string usage_of(const CLI::App& app);

/// Lines of at most `width` columns, each but the first behind `indent` spaces. Line breaks of the text are kept, and
/// so are lines that begin with a space.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t width);

}  // namespace tern
