// Several sessions of one program at once, against one session that has all their threads.
#pragma once

#include <tern/tern.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tern {

struct SessionsRequest {
  std::string function;
  std::vector<Tensor> inputs;  ///< of each session, which gets copies
  PrepareOptions options;      ///< `threads` are those of each session
  int sessions = 1;
  double seconds = 3;  ///< of measuring, all together
  std::uint64_t seed = 0;
};

/// What sessions that ran at once have done.
struct SessionsRate {
  int sessions = 0, threads = 0;  ///< threads of each session
  double runs_per_second = 0;     ///< of all sessions
  std::vector<double> latencies;  ///< milliseconds of each run, sorted
  double private_bytes = 0;       ///< what making and running the sessions has added to the process
};

/// The sessions asked for, then one session with all their threads. Both are measured in turns. Each session runs in a
/// thread of its own, with its own memory; they share the prepared program and its weights.
std::vector<SessionsRate> measure_sessions(const Model& model, const SessionsRequest& request);

/// As a table.
void print_sessions(const std::string& model, const std::string& function, const std::vector<SessionsRate>& rates);
void print_sessions_json(const std::string& model, const std::string& function, const std::vector<SessionsRate>& rates);

}  // namespace tern
