#include "tools/groups.h"

#include <tern/error.h>

#include <CLI/CLI.hpp>

#include "tools/bounds.h"

namespace tern {

void add_group_options(CLI::App& command, std::string& engine, double& timeout_seconds) {
  command
      .add_option(
          "--group", engine,
          "Run as one rank of a group of processes over this engine, gloo, mpi, or nccl (rccl) on devices, as torchrun "
          "--no-python, mpirun or srun have started it")
      ->type_name("ENGINE");
  within(command.add_option("--group-timeout", timeout_seconds, "How many seconds a rank waits for the others")
             ->capture_default_str(),
         bounds::kSeconds);
}

void put_rank(std::string& name, int rank) {
  constexpr std::string_view kPlace = "{rank}";
  for (std::size_t at = 0; (at = name.find(kPlace, at)) != std::string::npos;)
    name.replace(at, kPlace.size(), std::to_string(rank));
}

std::shared_ptr<ProcessGroup> join_launched_group(const std::string& engine, double timeout_seconds) {
  GroupOptions options = launched_group_options();
  options.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(timeout_seconds * 1000));
  return connect_group(engine, options);
}

}  // namespace tern
