#include "tools/scaling/simulate.h"

#include <algorithm>

namespace tern {
namespace {

/// The parts of a loop with equal times, as after perfect work stealing.
std::vector<ChunkTime> evened(const LoopTime& loop) {
  std::vector<ChunkTime> even_chunks = loop.chunks;
  if (loop.note.pieces == 0 || even_chunks.empty()) return even_chunks;
  double sum = 0, longest = 0;
  for (const ChunkTime& p : even_chunks) {
    sum += p.end - p.begin;
    longest = std::max(longest, p.end - p.begin);
  }
  const double mean = sum / static_cast<double>(even_chunks.size()),
               piece = sum / static_cast<double>(loop.note.pieces), most = std::max(mean, piece),
               excess = longest - most;
  if (excess <= 0) return even_chunks;
  // The last thread ends half a piece after the mean.
  for (ChunkTime& p : even_chunks) p.end = p.begin + mean;
  even_chunks.front().end += std::min(excess, piece / 2) + (most - mean);
  return even_chunks;
}

/// Shifts the loop to start at time 0.
LoopTime spread(const LoopTime& loop, const SimulatedSocket& socket, double weight_bytes) {
  LoopTime result{0, 0, loop.note, loop.openmp, {}};
  std::vector<double> free_at(static_cast<std::size_t>(std::max(1, socket.cores)), 0);
  for (const ChunkTime& chunk : evened(loop)) {
    const auto core = std::ranges::min_element(free_at);
    const double begin = *core;
    *core += chunk.end - chunk.begin;
    result.chunks.push_back({static_cast<int>(core - free_at.begin()), begin, *core});
  }
  const double longest = std::ranges::max(free_at);
  const double repeated_reads = static_cast<double>(loop.chunks.size()) - 1;
  const double from_memory =
      (weight_bytes + repeated_reads * static_cast<double>(loop.note.chunk_reads)) / socket.bytes_per_second;
  const double slower = longest > 0 ? std::max(1.0, from_memory / longest) : 1.0;
  for (ChunkTime& chunk : result.chunks) {
    chunk.begin *= slower;
    chunk.end *= slower;
  }
  result.end = longest * slower + socket.barrier;
  return result;
}

}  // namespace

NodeLoops simulate(const NodeLoops& run, const SimulatedSocket& socket, double weight_bytes) {
  double in_loops = 0;
  for (const LoopTime& loop : run.loops) in_loops += loop.end - loop.begin;
  NodeLoops result{run.function, run.node, 0, run.end - run.begin - in_loops, {}};
  for (const LoopTime& loop : run.loops) {
    if (loop.openmp) {  // times of the parts are unknown
      result.loops.push_back({0, loop.end - loop.begin, {}, true, {}});
    } else {
      result.loops.push_back(spread(loop, socket, weight_bytes * (loop.end - loop.begin) / std::max(in_loops, 1e-12)));
    }
    result.end += result.loops.back().end;
  }
  return result;
}

}  // namespace tern
