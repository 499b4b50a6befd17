// Breakdown of the threads' time during a node.
#pragma once

#include <span>

#include "threads/loop_recorder.h"

namespace tern {

/// Seconds of threads; the sum is threads * wall.
struct ThreadSeconds {
  double wall = 0;      ///< time of the node, from begin to end
  double useful = 0;    ///< the node's time on a single thread
  double slowdown = 0;  ///< slowdown of parts and serial stretches against a single thread: shared operands, caches and
                        ///< memory. Negative if two caches hold more than one cache
  double starting = 0;  ///< threads starting their parts after the loop began
  double waiting = 0;   ///< threads ending their parts before the loop ended
  double serial = 0;    ///< idle: the other threads outside of loops
  double unassigned = 0;  ///< idle: threads without a part of a loop
  double openmp = 0;  ///< all but the useful time of a node with loops on OpenMP's threads, without a finer breakdown

  double idle() const { return serial + unassigned; }
  double waits() const { return starting + waiting; }
  double total() const { return useful + slowdown + waits() + idle() + openmp; }
  ThreadSeconds& operator+=(const ThreadSeconds& o);
  ThreadSeconds operator*(double factor) const;
};

/// The account of a node's runs on `threads` threads; `useful_seconds`: seconds on a single thread.
ThreadSeconds account(std::span<const NodeLoops> node_runs, int threads, double useful_seconds);

}  // namespace tern
