// tern: the command. Each subcommand is a file of its own.
#include <tern/custom_op.h>
#include <tern/error.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>

#include "dtypes/printable.h"
#include "tools/command.h"

namespace {

/// Messages quote names from files: control characters of those must not reach the terminal. Line breaks are ours, as
/// fail() writes those of names as \x0a.
void print_error(const char* message) {
  std::string text = "tern: ";
  std::string_view rest = message;
  while (true) {
    const std::size_t end = rest.find('\n');
    text += tern::printable(rest.substr(0, std::min<std::size_t>(end, 16384))) + "\n";
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  std::fputs(text.c_str(), stderr);
}

/// An option that may be given several times takes one value each time: a file that follows is the command's.
void one_value_each(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) option->allow_extra_args(false);
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Runs exported PyTorch programs without Python: .pt2 in, one portable .tern out, tensors from there.");
  app.name("tern");
  app.require_subcommand(1);
  app.set_version_flag("--version", TERN_VERSION);
  app.fallthrough();
  app.add_option_function<std::vector<std::string>>(
         "--ops",
         [](const std::vector<std::string>& libraries) {
           for (const std::string& library : libraries) tern::load_ops(library);
         },
         "A library that provides operators of its own (tern/custom_op.h); also those of TERN_OP_PATH")
      ->type_name("LIBRARY");
  app.footer(
      "'tern COMMAND --help' shows a command's options and an example.\n"
      "Exit status: 0 done, 1 a check found something wrong, 2 wrong arguments, 3 a file cannot be read or written,\n"
      "4 a file breaks a rule of its format, 5 not supported by this version, 6 the program failed, 7 out of memory, 8 "
      "a defect of tern.");
  tern::CommandLine line;
  tern::add_export_command(app, line);
  tern::add_inspect_command(app, line);
  tern::add_validate_command(app, line);
  tern::add_run_command(app, line);
  tern::add_conform_command(app, line);
  tern::add_bench_command(app, line);
  tern::add_ops_command(app, line);
  tern::add_devices_command(app, line);
  one_value_each(app);
  for (CLI::App* command : app.get_subcommands({})) {
    command->fallthrough();
    one_value_each(*command);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : tern::kExitUsage;
  } catch (const tern::Error& e) {
    print_error(e.what());
    return static_cast<int>(e.code());
  } catch (const std::bad_alloc&) {
    print_error("out of memory");
    return static_cast<int>(tern::ErrorCode::out_of_memory);
  } catch (const std::exception& e) {
    print_error(e.what());
    return static_cast<int>(tern::ErrorCode::internal);
  }
  return line.status;
}
