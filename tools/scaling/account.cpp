#include "tools/scaling/account.h"

#include <algorithm>
#include <map>

namespace tern {
namespace {

/// A thread's share of a loop.
struct ThreadShare {
  double begin = 0, end = 0, busy = 0;
};

std::map<int, ThreadShare> shares_of(const LoopTime& loop) {
  std::map<int, ThreadShare> shares;
  for (const ChunkTime& p : loop.chunks) {
    const auto [at, first] = shares.try_emplace(p.thread, ThreadShare{p.begin, p.end, 0});
    ThreadShare& s = at->second;
    s.begin = std::min(s.begin, p.begin);
    s.end = std::max(s.end, p.end);
    s.busy += p.end - p.begin;
  }
  return shares;
}

}  // namespace

ThreadSeconds& ThreadSeconds::operator+=(const ThreadSeconds& o) {
  for (double ThreadSeconds::*s :
       {&ThreadSeconds::wall, &ThreadSeconds::useful, &ThreadSeconds::slowdown, &ThreadSeconds::starting,
        &ThreadSeconds::waiting, &ThreadSeconds::serial, &ThreadSeconds::unassigned, &ThreadSeconds::openmp})
    this->*s += o.*s;
  return *this;
}

ThreadSeconds ThreadSeconds::operator*(double factor) const {
  return {wall * factor,    useful * factor, slowdown * factor,   starting * factor,
          waiting * factor, serial * factor, unassigned * factor, openmp * factor};
}

ThreadSeconds account(std::span<const NodeLoops> node_runs, int threads, double useful_seconds) {
  ThreadSeconds a;
  a.useful = useful_seconds;
  double in_loops = 0, busy = 0;
  bool openmp = false;
  for (const NodeLoops& run : node_runs) {
    a.wall += run.end - run.begin;
    for (const LoopTime& loop : run.loops) {
      openmp = openmp || loop.openmp;
      const double length = loop.end - loop.begin;
      const std::map<int, ThreadShare> shares = shares_of(loop);
      in_loops += length;
      a.unassigned += std::max(0.0, threads - static_cast<double>(shares.size())) * length;
      for (const auto& [thread, s] : shares) {
        busy += s.busy;
        a.starting += s.begin - loop.begin;
        a.waiting += loop.end - s.end + (s.end - s.begin - s.busy);  // between two parts, too
      }
    }
  }
  if (openmp) {
    ThreadSeconds unknown;
    unknown.wall = a.wall;
    unknown.useful = useful_seconds;
    unknown.openmp = threads * a.wall - useful_seconds;
    return unknown;
  }
  a.serial = (threads - 1) * (a.wall - in_loops);
  a.slowdown = a.wall - in_loops + busy - useful_seconds;
  return a;
}

}  // namespace tern
