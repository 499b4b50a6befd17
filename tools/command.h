// The subcommands of the tern command: each file cmd_NAME.cpp adds its own subcommand.
#pragma once

#include <tern/precision.h>
#include <tern/stream.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tools/bounds.h"
#include "tools/exit_codes.h"
#include "tools/options.h"

namespace tern {

/// Result of a subcommand's callback.
struct CommandLine {
  int status = 0;  ///< exit status of a subcommand returning without an exception
};

void add_export_command(Command app, CommandLine& line);
void add_inspect_command(Command app, CommandLine& line);
void add_trace_command(Command app, CommandLine& line);
void add_view_command(Command app, CommandLine& line);
void add_validate_command(Command app, CommandLine& line);
void add_upgrade_command(Command app, CommandLine& line);
void add_run_command(Command app, CommandLine& line);
void add_conform_command(Command app, CommandLine& line);
void add_verify_command(Command app, CommandLine& line);
void add_train_command(Command app, CommandLine& line);
void add_generate_command(Command app, CommandLine& line);
void add_chat_command(Command app, CommandLine& line);
void add_serve_command(Command app, CommandLine& line);
void add_bench_command(Command app, CommandLine& line);
void add_ops_command(Command app, CommandLine& line);
void add_devices_command(Command app, CommandLine& line);
void add_trace_command(Command app, CommandLine& line);
void add_help_command(Command app, CommandLine& line);
void add_version_command(Command app, CommandLine& line);
void add_pages_command(Command app, CommandLine& line);

/// --device, --reproducible and --native-code
struct DeviceChoice {
  std::string name = "cpu";
  bool reproducible = false, native_code = false;
  bool copy_weights = false;
  std::string precision = "exported";
  std::vector<std::string> kept_patterns;
  StreamShare share;
};
inline void add_device_options(Command command, DeviceChoice& device) {
  command.add_option("--device", device.name, "The device that runs the program: cpu, or one that 'tern devices' lists")
      .capture_default_str()
      .type_name("DEVICE");
  command.add_flag("--reproducible", device.reproducible, "Give the same bits on every device and processor; slower");
  command.add_flag("--native-code", device.native_code,
                   "Run compiled kernels from the archive (export --target). They can do anything that this command "
                   "can: use it only for archives that you trust");
}
inline void add_copy_weights_option(Command command, DeviceChoice& device) {
  command.add_flag("--copy-weights", device.copy_weights,
                   "Copy the weights even to a device that can read the mapped file");
}
inline void add_share_options(Command command, DeviceChoice& device) {
  require_range(
      command.add_option("--units", device.share.units,
                         "Run on a part of the device with at least this many multiprocessors; 0: the whole device"),
      bounds::kUnits);
  require_range(command.add_option("--queues", device.share.queues,
                                   "With --units: number of streams that the part serves at once; 0: no limit"),
                bounds::kUnits);
}
inline constexpr std::pair<const char*, Precision> kPrecisions[] = {{"exported", Precision::exported},
                                                                    {"bfloat16", Precision::bfloat16},
                                                                    {"float16", Precision::float16},
                                                                    {"auto", Precision::automatic}};
inline void add_precision_option(Command command, DeviceChoice& device) {
  command
      .add_option("--precision", device.precision,
                  "Precision of float32 products: bfloat16 is faster on processors with matrix tiles or AVX512_BF16, "
                  "and rounds operands to 8 bits; float16 rounds the weights of products of few rows, which decoding "
                  "reads, to 11; auto selects the fastest one here")
      .one_of({"exported", "bfloat16", "float16", "auto"})
      .capture_default_str()
      .type_name("TYPE");
  command
      .add_option("--keep", device.kept_patterns,
                  "Keep the products of nodes whose module path, ATen operator or op matches PATTERN (* ? []) in "
                  "float32, regardless of --precision and the archive. May be repeated")
      .type_name("PATTERN");
}
inline const char* name_of(Precision precision) {
  return std::ranges::find(kPrecisions, precision, &std::pair<const char*, Precision>::second)->first;
}
inline Precision precision_of(const DeviceChoice& device) {
  return std::ranges::find(kPrecisions, device.precision, &std::pair<const char*, Precision>::first)->second;
}
inline void add_threads_option(Command command, int& threads) {
  require_range(command.add_option("--threads", threads, "Threads of a run; 0: as many as OpenMP reports (all cores)")
                    .capture_default_str(),
                bounds::kThreads);
}

}  // namespace tern
