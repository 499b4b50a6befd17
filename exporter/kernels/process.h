// Running other programs.
#pragma once

#include <string>
#include <vector>

namespace tern {

/// Where the shell would find a program of that name; empty where it would not.
std::string find_program(const std::string& name);

struct ProcessResult {
  int status = 0;      ///< what it ended with; above 255 where a signal ended it
  std::string output;  ///< of standard output and standard error, the first MiB
};

/// Runs the program (a path) with these arguments, without input, and waits for it. Fails (io) where it cannot be run.
ProcessResult run_program(const std::string& path, const std::vector<std::string>& arguments);

}  // namespace tern
