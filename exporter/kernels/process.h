// Running other programs.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace tern {

/// Path of a program by the shell's search rules; empty if not found.
std::string find_program(const std::string& name);

struct ProcessResult {
  int status = 0;        ///< exit status; 256 plus the signal's number after a signal
  bool is_late = false;  ///< true if the program ran longer than the limit and was ended
  std::string output;    ///< standard output and standard error, the first MiB
};

using EnvironmentVariables = std::vector<std::pair<std::string, std::string>>;

/// Runs the program (a path) with these arguments, without input, and waits at most `limit`; then kills it with all its
/// descendants. `variables` are added to its environment. Fails (io) if the program cannot run.
ProcessResult run_program(const std::string& path, const std::vector<std::string>& arguments,
                          std::chrono::milliseconds limit = std::chrono::hours(24),
                          const EnvironmentVariables& variables = {});

}  // namespace tern
