// Other programs: found, run, watched.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace tern::platform {

/// Path of a program by the search rules of the system's shell; empty if not found.
std::string find_program(const std::string& name);

struct ProcessResult {
  std::string problem;   ///< reason why the program did not start; empty if it did
  int status = 0;        ///< exit status; 256 plus the signal's number after a signal
  std::string crash;     ///< the system's name of the crash; empty if the program ended by itself
  bool is_late = false;  ///< true if the program ran longer than the limit and was ended
  std::string output;    ///< standard output and standard error, the first bytes
};

using EnvironmentVariables = std::vector<std::pair<std::string, std::string>>;

/// Runs the program (a path) with these arguments, without input, and waits at most `limit`; then ends it with all its
/// descendants. `variables` are added to its environment. `max_output`: bytes of the output that are kept.
ProcessResult run_process(const std::string& path, const std::vector<std::string>& arguments,
                          std::chrono::milliseconds limit, const EnvironmentVariables& variables = {},
                          std::size_t max_output = std::size_t{1} << 20);

/// True if a process of this number runs on this machine.
bool is_running(long process_number);

/// Ends this process if its parent ends.
void end_with_parent();

/// True if this process can show windows to its user.
bool has_desktop();
/// Opens a file in the user's browser or another program, without waiting.
bool open_on_desktop(const std::string& path);

}  // namespace tern::platform
