// Environment variables of process launchers.
#include <fmt/format.h>
#include <tern/collective.h>
#include <tern/error.h>

#include <charconv>
#include <optional>
#include <string_view>

#include "platform/environment.h"

namespace tern {
namespace {

struct LauncherVariables {
  const char *name, *rank, *size, *local_rank;
};
/// The first match counts: each launcher may run inside the launchers below.
constexpr LauncherVariables kLaunchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK"},
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"srun", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"},
};

std::string variable(const char* name) {
  return platform::trusted_variable(name).value_or("");
}

std::int64_t number(const char* name, std::int64_t most) {
  const std::string text = variable(name);
  std::int64_t n = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size() || n < 0 || n > most)
    fail(ErrorCode::invalid_argument, fmt::format("{}='{}' is not a number from 0 to {}", name, text, most));
  return n;
}

constexpr std::int64_t kMaxRanks = 1 << 20;
constexpr std::int64_t kMaxPort = 65535;

struct LaunchedRank {
  std::int64_t rank, size, local;
};
std::optional<LaunchedRank> launched_rank(const LauncherVariables& l) {
  const bool rank = !variable(l.rank).empty(), size = !variable(l.size).empty();
  if (!rank && !size) return {};
  // A Slurm allocation sets the number of tasks even outside of srun.
  if (!rank && std::string_view(l.name) == "srun") return {};
  if (!rank || !size)
    fail(ErrorCode::invalid_argument,
         fmt::format("{} is set, but {} is not; {} sets both", rank ? l.rank : l.size, rank ? l.size : l.rank, l.name));
  LaunchedRank r{number(l.rank, kMaxRanks), number(l.size, kMaxRanks), 0};
  if (r.rank >= r.size)
    fail(ErrorCode::invalid_argument,
         fmt::format("{}={} does not fit {}={}: ranks count from 0", l.rank, r.rank, l.size, r.size));
  r.local = variable(l.local_rank).empty() ? r.rank : number(l.local_rank, kMaxRanks);
  return r;
}

/// Chooses a port for the jobs of one user on a host, outside the range used by systems for dynamic ports.
int port_of(std::string_view job) {
  constexpr std::uint32_t kFirst = 20000, kPorts = 10000;
  std::uint32_t hash = 2166136261u;
  for (const char c : job) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return static_cast<int>(kFirst + hash % kPorts);
}

/// Parses "node[07-12,15],login": the first host is node07.
std::string first_host(std::string_view list) {
  const std::size_t bracket = list.find('['), comma = list.find(',');
  if (bracket == std::string_view::npos || comma < bracket) return std::string(list.substr(0, comma));
  const std::size_t end = list.find_first_of(",-]", bracket);
  const std::size_t closing = std::min(list.find(']', bracket), list.size() - 1);
  const std::string_view rest = list.substr(closing + 1);
  return std::string(list.substr(0, bracket)) + std::string(list.substr(bracket + 1, end - bracket - 1)) +
         std::string(rest.substr(0, rest.find(',')));
}

std::string address_by(const std::string& launcher) {
  if (std::string given = variable("TERN_GROUP_ADDRESS"); !given.empty()) return given;
  if (launcher == "torchrun") {
    for (const char* name : {"MASTER_ADDR", "MASTER_PORT"}) {
      if (variable(name).empty())
        fail(ErrorCode::invalid_argument, fmt::format("{} is not set; torchrun sets it, with RANK", name));
    }
    // torchrun's own store uses MASTER_PORT.
    return fmt::format("{}:{}", variable("MASTER_ADDR"), number("MASTER_PORT", kMaxPort - 1) + 1);
  }
  if (launcher == "mpirun") {
    if (variable("OMPI_COMM_WORLD_LOCAL_SIZE") == variable("OMPI_COMM_WORLD_SIZE"))
      return fmt::format("127.0.0.1:{}", port_of(variable("PMIX_NAMESPACE")));
    fail(ErrorCode::invalid_argument,
         "mpirun does not pass on the host of rank 0: set TERN_GROUP_ADDRESS=HOST:PORT with its option -x");
  }
  std::string nodes = variable("SLURM_STEP_NODELIST");
  if (nodes.empty()) nodes = variable("SLURM_JOB_NODELIST");
  if (nodes.empty())
    fail(ErrorCode::invalid_argument, "neither SLURM_STEP_NODELIST nor TERN_GROUP_ADDRESS says where rank 0 runs");
  return fmt::format("{}:{}", first_host(nodes),
                     port_of(fmt::format("{}.{}", variable("SLURM_JOB_ID"), variable("SLURM_STEP_ID"))));
}

}  // namespace

GroupOptions launched_group_options() {
  const LauncherVariables* launcher = nullptr;
  LaunchedRank found{};
  for (const LauncherVariables& l : kLaunchers) {
    const std::optional<LaunchedRank> r = launched_rank(l);
    if (!r) continue;
    if (launcher == nullptr) {
      launcher = &l;
      found = *r;
      continue;
    }
    // Workers of torchrun and mpirun inherit the variables of an outer launcher.
    const bool inside = !variable("TORCHELASTIC_RUN_ID").empty() || std::string_view(launcher->name) == "mpirun";
    if (!inside && (r->rank != found.rank || r->size != found.size))
      fail(ErrorCode::invalid_argument,
           fmt::format("{}={} and {}={} contradict {}={} and {}={}: unset the variables of other launchers",
                       launcher->rank, found.rank, launcher->size, found.size, l.rank, r->rank, l.size, r->size));
  }
  if (launcher == nullptr)
    fail(ErrorCode::invalid_argument,
         "no launcher set a rank: RANK (torchrun --no-python), OMPI_COMM_WORLD_RANK (mpirun) and SLURM_PROCID "
         "(srun) "
         "are not set");
  GroupOptions o;
  o.rank = static_cast<int>(found.rank);
  o.size = static_cast<int>(found.size);
  o.local_rank = static_cast<int>(found.local);
  o.launcher = launcher->name;
  o.address = address_by(o.launcher);
  return o;
}

}  // namespace tern
