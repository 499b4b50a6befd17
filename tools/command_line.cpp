#include "tools/command_line.h"

#include <fmt/format.h>
#include <tern/custom_op.h>
#include <tern/error.h>
#include <tern/version.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "dtypes/printable.h"
#include "platform/console.h"
#include "tools/exit_codes.h"
#include "tools/help.h"
#include "tools/names.h"
#include "tools/option_text.h"
#include "tools/output.h"
#include "tools/text.h"

namespace tern {
namespace {

/// The order of --help.
constexpr void (*kCommands[])(Command app, CommandLine& line) = {
    add_export_command, add_inspect_command,  add_view_command,    add_validate_command, add_upgrade_command,
    add_run_command,    add_generate_command, add_chat_command,    add_serve_command,    add_verify_command,
    add_train_command,  add_bench_command,    add_conform_command, add_ops_command,      add_devices_command,
    add_trace_command,  add_help_command,     add_version_command, add_pages_command,
};

/// Escapes control characters of names from files in messages: the terminal must not see them. Raw line breaks are
/// Tern's own, because fail() writes line breaks of names as \x0a.
int report(ErrorCode code, std::string_view message) {
  std::string text = "tern: ";
  while (true) {
    const std::size_t end = message.find('\n');
    text += printable(message.substr(0, std::min<std::size_t>(end, 16384))) + "\n";
    if (end == std::string_view::npos) break;
    message.remove_prefix(end + 1);
  }
  std::fputs(text.c_str(), stderr);
  return static_cast<int>(code);
}

/// A repeatable option takes a single value each time: a following file is the command's argument.
void one_value_each(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) option->allow_extra_args(false);
  }
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* c : commands_of(app)) names.push_back(c->get_name());
  return names;
}

/// The first argument besides global options and their values.
std::optional<std::string> first_word(const CLI::App& app, const std::vector<std::string>& words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& argument = words[i];
    if (argument.size() < 2 || argument[0] != '-') return argument;
    const CLI::Option* option = app.get_option_no_throw(argument);
    if (option != nullptr && option->get_type_size() != 0) ++i;
  }
  return {};
}

/// The first option; words after the mark "--" are not options.
std::vector<std::string>::const_iterator first_option(const std::vector<std::string>& words) {
  const auto mark = std::ranges::find(words, "--");
  const auto found = std::find_if(words.begin(), mark, [](const std::string& word) { return word.starts_with('-'); });
  return found == mark ? words.end() : found;
}

/// The message for an unknown argument; an unknown option is compared with the existing options.
std::string unexpected(const CLI::App& app) {
  const std::vector<std::string> remaining = app.remaining(true);
  const auto parsed = app.get_subcommands();
  const CLI::App& command = parsed.empty() ? app : *parsed.front();
  const std::string name = parsed.empty() ? "tern" : "tern " + command.get_name();
  const auto option = first_option(remaining);
  if (option == remaining.end()) {
    const auto word = std::ranges::find_if(remaining, [](const std::string& w) { return w != "--"; });
    if (word == remaining.end()) return fmt::format("wrong arguments; see '{} --help'", name);
    return fmt::format("'{}' takes no more arguments, but got '{}'; see '{} --help'", name, escape_name(*word), name);
  }
  std::vector<std::string> names;
  for (const CLI::App* a : {&command, &app}) {
    for (const CLI::Option* o : a->get_options()) {
      for (const std::string& n : o->get_lnames()) names.push_back("--" + n);
    }
  }
  const std::string option_name = option->substr(0, option->find('='));
  const std::string near_name = near_miss(option_name, names);
  return fmt::format("'{}' has no option '{}'{}; see '{} --help'", name, escape_name(option_name),
                     near_name.empty() ? "" : fmt::format("; did you mean '{}'?", near_name), name);
}

/// Reports wrong arguments; throws other errors. `words` begin with the program's name.
int parse(CLI::App& app, const std::vector<std::string>& words) {
  if (words.size() <= 1) {
    fmt::print("{}", app.help());
    return kExitUsage;
  }
  const std::optional<std::string> word = first_word(app, words);
  if (word && find_command(app, *word) == nullptr) fail_unknown_name("command", *word, command_names(app));
  try {
    std::vector<const char*> arguments;
    for (const std::string& w : words) arguments.push_back(w.c_str());
    app.parse(static_cast<int>(arguments.size()), arguments.data());
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
  } catch (const CLI::CallForVersion&) {
    fmt::print("tern {}\n", TERN_VERSION_STRING);
  } catch (const CLI::ParseError& e) {
    // An unknown option also explains a missing argument.
    const std::vector<std::string> remaining = app.remaining(true);
    if (dynamic_cast<const CLI::ExtrasError*>(&e) != nullptr || first_option(remaining) != remaining.end())
      fail(ErrorCode::invalid_argument, unexpected(app));
    const auto parsed = app.get_subcommands();
    const std::string name = parsed.empty() ? "tern" : "tern " + parsed.front()->get_name();
    fail(ErrorCode::invalid_argument, fmt::format("{}; see '{} --help'", e.what(), name));
  }
  return 0;
}

int run(int argc, char** argv) {
  platform::prepare_streams();
  CommandLine line;
  try {
    const std::unique_ptr<CLI::App> app = make_app(line);
    const int status = parse(*app, platform::command_arguments(argc, argv));
    return status != 0 ? status : line.status;
  } catch (const Error& e) {
    return report(e.code(), e.what());
  } catch (const std::bad_alloc&) {
    return report(ErrorCode::out_of_memory, "out of memory");
  } catch (const std::filesystem::filesystem_error& e) {
    return report(ErrorCode::io, e.what());
  } catch (const std::system_error& e) {
    if (e.code() == std::errc::broken_pipe) return kExitReaderGone;
    if (output_failed())  // {fmt} throws on stdio errors
      return report(ErrorCode::io, "cannot write to standard output: " + e.code().message());
    return report(ErrorCode::internal, e.what());
  } catch (const std::exception& e) {
    return report(ErrorCode::internal, e.what());
  }
}

}  // namespace

std::unique_ptr<CLI::App> make_app(CommandLine& line) {
  auto app = std::make_unique<CLI::App>(
      "Exports PyTorch programs (.pt2) to portable archives (.tern) and runs them without Python.");
  app->name("tern");
  app->formatter(std::make_shared<HelpFormatter>());
  app->require_subcommand(1);
  app->allow_windows_style_options(false);  // a path may begin with a slash on Windows, too
  app->set_version_flag("--version", TERN_VERSION_STRING, "Print the version and exit");
  app->set_help_flag("-h,--help", "Print this text and exit");
  app->fallthrough();
  app->add_option_function<std::vector<std::string>>(
         "--ops",
         [](const std::vector<std::string>& libraries) {
           for (const std::string& library : libraries) load_ops(library);
         },
         "Load a library of custom operators (tern/custom_op.h), besides those in TERN_OP_PATH")
      ->type_name("LIBRARY");
  app->footer(
      "Examples:\n  tern export model.pt2 -o model.tern\n  tern run model.tern -i image.npy -o result.npz\n\n"
      "'tern help COMMAND' and 'tern COMMAND --help' show the options of a command and examples. 'tern' alone prints "
      "this list and ends with status 2.\n\nExit status:\n" +
      exit_codes_text());
  for (const auto add : kCommands) add(Command(*app), line);
  one_value_each(*app);
  for (CLI::App* command : app->get_subcommands({})) {
    command->fallthrough();
    one_value_each(*command);
  }
  return app;
}

int run_for_text(const std::vector<std::string>& words, std::string* text) {
  std::vector<std::string> all_words = words;
  all_words.insert(all_words.begin(), "tern");
  CommandLine line;
  const std::unique_ptr<CLI::App> app = make_app(line);
  OutputText captured;
  const int status = parse(*app, all_words);
  *text = std::move(captured.text);
  return status != 0 ? status : line.status;
}

int run_command_line(int argc, char** argv) {
  platform::ignore_write_signals();
  const int status = run(argc, argv);
  const bool reported = output_failed() && status == static_cast<int>(ErrorCode::io);
  const std::string lost = finish_output();
  if (status == kExitReaderGone || (!lost.empty() && platform::reader_has_gone())) return end_without_reader();
  if (lost.empty() || reported) return status;
  return report(ErrorCode::io, lost);
}

}  // namespace tern
