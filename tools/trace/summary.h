// The summary of a trace: by op, module and annotation; idle time; the critical path.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tools/trace/events.h"

namespace tern {

/// Microseconds. `host`: time of the ops alone, without nested ops. `device`: time of the kernels and copies started by
/// the ops.
struct TraceSum {
  std::string name;
  std::uint64_t count = 0;
  double host = 0, device = 0, flops = 0, bytes = 0;
  double total() const { return host + device; }
};

/// Use of the time between the first and the last activity of a place.
struct TraceBusy {
  std::string resource;                              ///< "host", "device 0"; of merged traces "host of rank 1"
  double span = 0, compute = 0, copy = 0, idle = 0;  ///< copy: copies or communicates while nothing computes
};

struct TraceSummary {
  std::string path;
  std::uint64_t events = 0, skipped = 0, dropped = 0, runs = 0, kernels = 0, copies = 0, ops = 0, unfinished = 0;
  std::int64_t rank = -1, world_size = 1;
  double span = 0;          ///< time from the first begin to the last end
  double run_mean = 0;      ///< mean time of the runs
  double copied_bytes = 0;  ///< copied by the device
  std::vector<TraceSum> ops_by_time, modules, annotations, kernels_by_time, overheads;  ///< the slowest first
  std::vector<TraceBusy> busy;
  std::vector<TraceSum> path_by_time;  ///< spans of the critical path
  double path_length = 0;
};

/// A part of a span without any inner span.
struct PathPiece {
  std::size_t span = 0;  ///< number in LoadedTrace::spans
  double begin = 0, end = 0;
  bool is_in_op = false;  ///< the span is an op, or is inside an op
};
/// The pieces of each thread, or stream of a device, in the order of their begins.
using TracePlace = std::pair<std::int64_t, std::int64_t>;  ///< process and thread, or device and stream
std::map<TracePlace, std::vector<PathPiece>> pieces_of_places(const LoadedTrace& trace);

TraceSummary summarize_trace(const LoadedTrace& trace);

/// The chain of activities determining the end of the last activity, found backwards: each predecessor is the activity
/// before on the same thread or stream, or the launch, or the awaited activity, whichever ended last. Returned in order
/// of time.
std::vector<PathPiece> critical_path(const LoadedTrace& trace);

std::string trace_text(const TraceSummary& s, int max_rows);
std::string trace_json(const TraceSummary& s);

}  // namespace tern
