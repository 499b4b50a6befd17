// Moves recorded steps into graphs of the device, if supported ("graph" of tern/device.h).
#pragma once

#include "runtime/graph/replay.h"

namespace tern {

/// Replaces sequences of supported items, including control flow decided by the device. Other items stay.
void make_device_graphs(const Replay& replay, Recording& recording);

/// Enqueues the items of a graph during its recording in a traced run.
void enqueue_timed(const Replay& replay, const Recording& recording, GraphWorkList& list);

}  // namespace tern
