// Subcommands and options, for the files that add them. CLI11 parses them. Only options.cpp and the readers of CLI11's
// tree include it: each unit with CLI11 compiles its inline functions, about 120 KB, anew.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tern {

/// An option of CLI11's tree. The functions return the option itself.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option type_name(const std::string& name) const;
  Option required() const;
  /// The help shows the value that the variable has now.
  Option capture_default_str() const;
  Option default_str(const std::string& text) const;
  Option delimiter(char delimiter) const;
  /// Number of values.
  Option expected(int count) const;
  Option expected(int min_values, int max_values) const;
  /// Heading of CLI11; an empty one hides the option.
  Option group(const std::string& name) const;
  /// Takes 64MB, too.
  Option as_bytes() const;
  Option one_of(const std::vector<std::string>& values) const;
  /// The function returns what is wrong with a value, or nothing.
  Option check(const std::function<std::string(std::string&)>& problem) const;

  /// Number of times that the command line gives it.
  std::size_t count() const;

 private:
  CLI::Option* option_;
};

/// A command of CLI11's tree. Variables must outlive the tree.
class Command {
 public:
  explicit Command(CLI::App& app) : app_(&app) {}

  Command add_subcommand(const std::string& name, const std::string& description) const;
  /// `names` are "-o,--output", or the name of a positional argument. options.cpp lists the types T.
  template <class T>
  Option add_option(const std::string& names, T& value, const std::string& description = {}) const;
  Option add_option_function(const std::string& names, const std::function<void(const std::string&)>& on_value,
                             const std::string& description) const;
  Option add_flag(const std::string& names, bool& value, const std::string& description) const;
  void footer(const std::string& text) const;
  void callback(const std::function<void()>& run) const;
  /// Hides the command.
  void hide() const;
  /// Number of times that the command line gives the option.
  std::size_t count(const std::string& option) const;

  const CLI::App& app() const { return *app_; }

 private:
  CLI::App* app_;
};

}  // namespace tern
