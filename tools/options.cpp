#include "tools/options.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <utility>

namespace tern {

Option Option::type_name(const std::string& name) const {
  option_->type_name(name);
  return *this;
}

Option Option::required() const {
  option_->required();
  return *this;
}

Option Option::capture_default_str() const {
  option_->capture_default_str();
  return *this;
}

Option Option::default_str(const std::string& text) const {
  option_->default_str(text);
  return *this;
}

Option Option::delimiter(char delimiter) const {
  option_->delimiter(delimiter);
  return *this;
}

Option Option::expected(int count) const {
  option_->expected(count);
  return *this;
}

Option Option::expected(int min_values, int max_values) const {
  option_->expected(min_values, max_values);
  return *this;
}

Option Option::group(const std::string& name) const {
  option_->group(name);
  return *this;
}

Option Option::as_bytes() const {
  option_->transform(CLI::AsSizeValue(true));
  return *this;
}

Option Option::one_of(const std::vector<std::string>& values) const {
  option_->check(CLI::IsMember(values));
  return *this;
}

Option Option::check(const std::function<std::string(std::string&)>& problem) const {
  option_->check(CLI::Validator(problem, ""));
  return *this;
}

std::size_t Option::count() const {
  return option_->count();
}

Command Command::add_subcommand(const std::string& name, const std::string& description) const {
  return Command(*app_->add_subcommand(name, description));
}

template <class T>
Option Command::add_option(const std::string& names, T& value, const std::string& description) const {
  return Option(app_->add_option(names, value, description));
}

// The types of values.
#define TERN_OPTION_OF(...) \
  template Option Command::add_option(const std::string&, __VA_ARGS__&, const std::string&) const;
TERN_OPTION_OF(int)
TERN_OPTION_OF(std::int64_t)
TERN_OPTION_OF(std::uint64_t)
TERN_OPTION_OF(double)
TERN_OPTION_OF(std::string)
TERN_OPTION_OF(std::optional<int>)
TERN_OPTION_OF(std::optional<std::int64_t>)
TERN_OPTION_OF(std::optional<std::uint64_t>)
TERN_OPTION_OF(std::optional<double>)
TERN_OPTION_OF(std::vector<int>)
TERN_OPTION_OF(std::vector<std::int64_t>)
TERN_OPTION_OF(std::vector<double>)
TERN_OPTION_OF(std::vector<std::string>)
TERN_OPTION_OF(std::vector<std::pair<std::string, std::string>>)
#undef TERN_OPTION_OF

Option Command::add_option_function(const std::string& names, const std::function<void(const std::string&)>& read,
                                    const std::string& description) const {
  return Option(app_->add_option_function<std::string>(names, read, description));
}

Option Command::add_flag(const std::string& names, bool& value, const std::string& description) const {
  return Option(app_->add_flag(names, value, description));
}

void Command::footer(const std::string& text) const {
  app_->footer(text);
}

void Command::callback(const std::function<void()>& run) const {
  app_->callback(run);
}

void Command::hide() const {
  app_->group("");
}

std::size_t Command::count(const std::string& option) const {
  return app_->count(option);
}

}  // namespace tern
