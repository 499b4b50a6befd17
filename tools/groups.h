// Groups of the command: --group ENGINE.
#pragma once

#include <tern/collective.h>

#include <memory>
#include <string>

namespace CLI {
class App;
}

namespace tern {

/// Adds --group and --group-timeout.
void add_group_options(CLI::App& command, std::string& engine, double& timeout_seconds);
/// Puts the number of the rank where the name of a file has {rank}.
void put_rank(std::string& name, int rank);
/// Puts the number of this process among those of its host where the name of a device has {local_rank}.
void put_local_rank(std::string& device);
/// The group that this process's launcher has made it a rank of.
std::shared_ptr<ProcessGroup> join_launched_group(const std::string& engine, double timeout_seconds);

}  // namespace tern
