// Runs work prone to crash or hang, for example starting a driver, in a child process.
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace tern {

struct IsolatedResult {
  std::string text;     ///< the text returned by the work
  std::string problem;  ///< "it crashed (Aborted)", "it did not end within 60 s"; empty on success
};

/// Runs the work in a fork of this process and waits for its text; this process must not have started threads.
IsolatedResult run_isolated(std::chrono::milliseconds limit, const std::function<std::string()>& work);

}  // namespace tern
