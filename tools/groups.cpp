#include "tools/groups.h"

#include <tern/error.h>

#include "tools/bounds.h"

namespace tern {

void add_group_options(Command command, std::string& engine, double& timeout_seconds) {
  command
      .add_option(
          "--group", engine,
          "Run as one rank of a group of processes over this engine, gloo, mpi, or nccl (rccl) on devices, as torchrun "
          "--no-python, mpirun or srun have started it")
      .type_name("ENGINE");
  require_range(command.add_option("--group-timeout", timeout_seconds, "Seconds that a rank waits for the others")
                    .capture_default_str(),
                bounds::kSeconds);
}

namespace {

void replace_all(std::string& text, std::string_view pattern, int number) {
  for (std::size_t at = 0; (at = text.find(pattern, at)) != std::string::npos;)
    text.replace(at, pattern.size(), std::to_string(number));
}

}  // namespace

void put_rank(std::string& name, int rank) {
  replace_all(name, "{rank}", rank);
}

void put_local_rank(std::string& device) {
  constexpr std::string_view kRankPlaceholder = "{local_rank}";
  if (device.find(kRankPlaceholder) != std::string::npos)
    replace_all(device, kRankPlaceholder, launched_group_options().local_rank);
}

std::shared_ptr<ProcessGroup> join_launched_group(const std::string& engine, double timeout_seconds) {
  GroupOptions options = launched_group_options();
  options.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(timeout_seconds * 1000));
  return connect_group(engine, options);
}

}  // namespace tern
