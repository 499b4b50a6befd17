// Manual pages, docs/command.md and completion, made from CLI11's tree.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tern {

/// The man(7) page of the whole command or of a subcommand.
std::string man_page(const CLI::App& app);
/// The whole command with all its subcommands: docs/command.md.
std::string markdown_page(const CLI::App& app);
std::string bash_completion(const CLI::App& app);
std::string zsh_completion(const CLI::App& app);
std::string fish_completion(const CLI::App& app);

/// Completions offered by a shell for the value of an option or argument.
struct Candidates {
  bool files = false;
  std::string words;  ///< separated by spaces
};
Candidates candidates_of(const CLI::App& app, const std::string& type_name);

/// The text up to the end of its first sentence: shells show a single line.
std::string first_sentence(const std::string& text);

/// Text in single quotes for a shell.
std::string shell_quoted(const std::string& text);

}  // namespace tern
