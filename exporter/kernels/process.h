// Running other programs.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace tern {

/// Where the shell would find a program of that name; empty where it would not.
std::string find_program(const std::string& name);

struct ProcessResult {
  int status = 0;        ///< exit status; above 255 where a signal ended it: 256 and the signal's number
  bool is_late = false;  ///< true if the program ran longer than the limit and was ended
  std::string output;    ///< standard output and standard error, the first MiB
};

using EnvironmentVariables = std::vector<std::pair<std::string, std::string>>;

/// Runs the program (a path) with these arguments, without input, and waits for it, at most `limit`: then it is ended,
/// with all that it started. `variables` are added to its environment. Fails (io) where it cannot be run.
ProcessResult run_program(const std::string& path, const std::vector<std::string>& arguments,
                          std::chrono::milliseconds limit = std::chrono::hours(24),
                          const EnvironmentVariables& variables = {});

}  // namespace tern
