// Descriptions of a command's options, read from CLI11's tree: the single source of --help, manual pages and
// completion.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tern {

struct OptionText {
  std::vector<std::string> names;  ///< "-o", "--output"; the name of a positional argument: "model"
  std::string value;               ///< "FILE"; empty for a flag
  std::string description;
  std::string preset;  ///< the default value; empty if the help shows no default
  bool positional = false, required = false, repeats = false;

  /// "-o, --output FILE"
  std::string synopsis() const;
};

/// Positional arguments first, then options in the order of their definition, without hidden options.
std::vector<OptionText> options_of(const CLI::App& app);

/// The visible subcommands.
std::vector<const CLI::App*> commands_of(const CLI::App& app);

/// The subcommand of this name, or null.
const CLI::App* find_command(const CLI::App& app, const std::string& name);

/// "[OPTIONS] MODEL": the usage after the command's name.
std::string usage_of(const CLI::App& app);

/// Lines of at most `width` columns, all but the first indented by `indent` spaces. Keeps line breaks of the text and
/// lines beginning with a space.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t width);

}  // namespace tern
