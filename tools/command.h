// The subcommands of the tern command: each file cmd_NAME.cpp adds its own.
#pragma once

#include <CLI/CLI.hpp>

namespace tern {

/// What the command ends with. Failures end with the value of their ErrorCode (3 for a file that cannot be read ...).
inline constexpr int kExitFindings = 1;  ///< a check that ran to its end found something wrong
inline constexpr int kExitUsage = 2;     ///< wrong options or arguments, as ErrorCode::invalid_argument

/// What a subcommand's callback leaves behind.
struct CommandLine {
  int status = 0;  ///< exit status of a subcommand that did not throw
};

void add_export_command(CLI::App& app, CommandLine& line);
void add_inspect_command(CLI::App& app, CommandLine& line);
void add_validate_command(CLI::App& app, CommandLine& line);
void add_run_command(CLI::App& app, CommandLine& line);
void add_conform_command(CLI::App& app, CommandLine& line);
void add_bench_command(CLI::App& app, CommandLine& line);
void add_ops_command(CLI::App& app, CommandLine& line);
void add_devices_command(CLI::App& app, CommandLine& line);

/// --device, --reproducible and --native-code
struct DeviceChoice {
  std::string name = "cpu";
  bool reproducible = false, native_code = false;
  bool copy_weights = false;
};
inline void add_device_options(CLI::App& command, DeviceChoice& device) {
  command.add_option("--device", device.name, "Where tensors are computed: cpu, or one that 'tern devices' lists")
      ->capture_default_str();
  command.add_flag("--reproducible", device.reproducible,
                   "The same bits on every device and processor, for some speed");
  command.add_flag("--native-code", device.native_code,
                   "Run the kernels that the archive brings compiled (export --target xpu:spirv): they can do whatever "
                   "this command can, so only those of a maker you trust");
}
inline void add_copy_weights_option(CLI::App& command, DeviceChoice& device) {
  command.add_flag("--copy-weights", device.copy_weights,
                   "Copy weights even to a device that reads them where the file is mapped");
}

}  // namespace tern
