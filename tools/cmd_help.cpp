// tern help, tern version.
#include <fmt/format.h>
#include <tern/version.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/command.h"
#include "tools/json_text.h"
#include "tools/names.h"
#include "tools/option_text.h"

namespace tern {
namespace {

void print_help(const CLI::App& app, const std::string& name) {
  if (name.empty()) {
    fmt::print("{}", app.get_formatter()->make_help(&app, "", CLI::AppFormatMode::Normal));
    return;
  }
  const CLI::App* command = find_command(app, name);
  if (command == nullptr) {
    std::vector<std::string> names;
    for (const CLI::App* c : commands_of(app)) names.push_back(c->get_name());
    fail_unknown_name("command", name, names);
  }
  fmt::print("{}", command->help());
}

}  // namespace

void add_help_command(Command app, CommandLine&) {
  auto name = std::make_shared<std::string>();
  const Command c = app.add_subcommand("help", "Show what a command does, its options and examples");
  c.add_option("command", *name, "A command; without one, all commands are listed").type_name("COMMAND");
  c.footer("Example:\n  tern help run");
  c.callback([name, app] { print_help(app.app(), *name); });
}

void add_version_command(Command app, CommandLine&) {
  auto json = std::make_shared<bool>(false);
  const Command c = app.add_subcommand("version", "Print the version");
  c.add_flag("--json", *json, "Print it as JSON");
  c.footer("Example:\n  tern version");
  c.callback([json] {
    if (*json) {
      fmt::print("{}\n", json_text({{"version", TERN_VERSION_STRING}}));
    } else {
      fmt::print("tern {}\n", TERN_VERSION_STRING);
    }
  });
}

}  // namespace tern
