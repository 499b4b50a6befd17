#include "tools/scaling/simulate.h"

#include <algorithm>

namespace tern {
namespace {

/// The loop from time 0 on.
LoopTime spread(const LoopTime& loop, const Socket& socket, double weight_bytes) {
  LoopTime result{0, 0, loop.part_reads, loop.openmp, {}};
  std::vector<double> free(static_cast<std::size_t>(std::max(1, socket.cores)), 0);
  for (const PartTime& part : loop.parts) {
    const auto core = std::ranges::min_element(free);
    const double begin = *core;
    *core += part.end - part.begin;
    result.parts.push_back({static_cast<int>(core - free.begin()), begin, *core});
  }
  const double longest = std::ranges::max(free);
  const double again = static_cast<double>(loop.parts.size()) - 1;
  const double from_memory = (weight_bytes + again * loop.part_reads) / socket.bytes_per_second;
  const double slower = longest > 0 ? std::max(1.0, from_memory / longest) : 1.0;
  for (PartTime& part : result.parts) {
    part.begin *= slower;
    part.end *= slower;
  }
  result.end = longest * slower + socket.barrier;
  return result;
}

}  // namespace

NodeLoops simulate(const NodeLoops& run, const Socket& socket, double weight_bytes) {
  double in_loops = 0;
  for (const LoopTime& loop : run.loops) in_loops += loop.end - loop.begin;
  NodeLoops result{run.function, run.node, 0, run.end - run.begin - in_loops, {}};
  for (const LoopTime& loop : run.loops) {
    if (loop.openmp) {  // nothing is known of its parts
      result.loops.push_back({0, loop.end - loop.begin, 0, true, {}});
    } else {
      result.loops.push_back(spread(loop, socket, weight_bytes * (loop.end - loop.begin) / std::max(in_loops, 1e-12)));
    }
    result.end += result.loops.back().end;
  }
  return result;
}

}  // namespace tern
