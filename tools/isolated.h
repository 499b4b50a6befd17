// Work that may crash or hang, such as starting a driver, in a child of this process.
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace tern {

struct IsolatedResult {
  std::string text;     ///< the text that the work returned
  std::string problem;  ///< "it crashed (Aborted)", "it did not end within 60 s"; empty where all is well
};

/// Runs the work in a copy of this process, which must have started no threads, and waits for its text.
IsolatedResult run_isolated(std::chrono::milliseconds limit, const std::function<std::string()>& work);

}  // namespace tern
