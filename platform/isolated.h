// Runs work prone to crash or hang, for example starting a driver, in another process.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace tern::platform {

struct IsolatedResult {
  std::string text;     ///< the text returned by the work
  std::string problem;  ///< "it crashed (Aborted)", "it did not end within 60 s"; empty on success
};

/// Waits for the text of the work. POSIX: a fork of this process does the work; this process must not have started
/// threads. Windows has no forks: runs this program again with the arguments `again`, which make it do the same work
/// and pass the text to write_isolated().
IsolatedResult run_isolated(std::chrono::milliseconds limit, const std::function<std::string()>& work,
                            const std::vector<std::string>& again);

/// Prints the text for the process that called run_isolated().
void write_isolated(const std::string& text);

}  // namespace tern::platform
