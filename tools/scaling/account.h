// Where the time of several threads goes while a node runs.
#pragma once

#include <span>

#include "threads/loop_recorder.h"

namespace tern {

/// Seconds of threads. They add up to threads * wall.
struct ThreadSeconds {
  double wall = 0;    ///< of the node: from its begin to its end
  double useful = 0;  ///< the node's time on one thread
  double more = 0;    ///< parts and serial stretches took that much longer than on one thread: operands that several
                      ///< threads read, caches and memory that they share. Negative where two caches hold more than one
  double starting = 0;  ///< threads that began their parts after the loop began
  double waiting = 0;   ///< threads that ended their parts before the loop ended
  double serial = 0;    ///< idle: the other threads outside of loops
  double few = 0;       ///< idle: threads without a part of a loop
  double openmp = 0;    ///< all but the useful time of a node with loops on OpenMP's threads: nothing more is known

  double idle() const { return serial + few; }
  double waits() const { return starting + waiting; }
  double all() const { return useful + more + waits() + idle() + openmp; }
  ThreadSeconds& operator+=(const ThreadSeconds& o);
  ThreadSeconds operator*(double factor) const;
};

/// The account of the runs of one node on `threads` threads; `useful` seconds on one.
ThreadSeconds account(std::span<const NodeLoops> runs, int threads, double useful);

}  // namespace tern
