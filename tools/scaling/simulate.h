// How long a node would take on more cores than the machine has, from the times of its parts, each measured alone.
#pragma once

#include "threads/loop_recorder.h"

namespace tern {

/// A socket that is not there. Every assumption of the simulation is one of these numbers, or that cores are as fast
/// as the one that measured.
struct Socket {
  int cores = 1;
  double barrier = 0;           ///< seconds that the begin and end of a loop take
  double bytes_per_second = 0;  ///< that all cores together read from memory
};

/// `run` was recorded in turn. In the result, the cores take the parts in order, each the next one when it is free;
/// where threads take pieces of each other's parts, all end within one piece. A loop ends no earlier than memory has
/// delivered `weight_bytes` (the loop's share of the node's weights, by its time) and, once for each part but the
/// first, what every part reads. Its parts last longer then.
NodeLoops simulate(const NodeLoops& run, const Socket& socket, double weight_bytes);

}  // namespace tern
