// Estimates a node's time on more cores than the machine has, from the times of its parts, each measured alone.
#pragma once

#include "threads/loop_recorder.h"

namespace tern {

/// A simulated socket. All assumptions of the simulation are these numbers, and cores as fast as the measured core.
struct SimulatedSocket {
  int cores = 1;
  double barrier = 0;           ///< seconds of a loop's begin and end
  double bytes_per_second = 0;  ///< memory bandwidth of all cores together
};

/// `run` was recorded sequentially. In the result, each free core takes the next part in order; with work stealing, all
/// cores end within the time of a piece. A loop ends no earlier than memory has delivered `weight_bytes` (the loop's
/// share of the node's weights, by its time) and, once for each part but the first, the data read by every part; its
/// parts then last longer.
NodeLoops simulate(const NodeLoops& run, const SimulatedSocket& socket, double weight_bytes);

}  // namespace tern
