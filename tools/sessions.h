// Compares several concurrent sessions of a program with a single session using all their threads.
#pragma once

#include <tern/tern.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tern {

struct SessionsRequest {
  std::string function;
  std::vector<Tensor> inputs;  ///< inputs of each session; each session gets copies
  PrepareOptions options;      ///< `threads` counts the threads of each session
  int sessions = 1;
  double seconds = 3;  ///< total duration of measuring
  std::uint64_t seed = 0;
};

/// Measurement of concurrent sessions.
struct SessionsRate {
  int sessions = 0, threads = 0;  ///< threads of each session
  double runs_per_second = 0;     ///< rate of all sessions together
  std::vector<double> latencies;  ///< milliseconds of each run, sorted
  double private_bytes = 0;       ///< memory growth of the process from creating and running the sessions
};

/// Measures the requested sessions and a single session with all their threads, in turns. Each session runs in a thread
/// of its own, with its own memory; all share the prepared program and its weights.
std::vector<SessionsRate> measure_sessions(const Model& model, const SessionsRequest& request);

/// Prints a table.
void print_sessions(const std::string& model, const std::string& function, const std::vector<SessionsRate>& rates);
void print_sessions_json(const std::string& model, const std::string& function, const std::vector<SessionsRate>& rates);

}  // namespace tern
