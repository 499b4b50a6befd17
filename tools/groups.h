// Groups of the command: --group ENGINE.
#pragma once

#include <tern/collective.h>

#include <memory>
#include <string>

#include "tools/options.h"

namespace tern {

/// Adds --group and --group-timeout.
void add_group_options(Command command, std::string& engine, double& timeout_seconds);
/// Replaces {rank} in a file's name by the rank's number.
void put_rank(std::string& name, int rank);
/// Replaces {local_rank} in a device's name by this process's number among the processes of its host.
void put_local_rank(std::string& device);
/// Joins the launcher's group as a rank.
std::shared_ptr<ProcessGroup> join_launched_group(const std::string& engine, double timeout_seconds);

}  // namespace tern
