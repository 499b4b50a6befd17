// Moves recorded steps into graphs of the device, if it has any ("graph" of tern/device.h).
#pragma once

#include "runtime/graph/replay.h"

namespace tern {

/// Replaces sequences of items that the device supports, including control flow that it decides itself. Other items
/// stay.
void make_device_graphs(const Replay& replay, Recording& recording);

}  // namespace tern
