// Hands what was recorded over to graphs of the device, where it has such ("graph" of tern/device.h).
#pragma once

#include "runtime/graph/replay.h"

namespace tern {

/// Replaces runs of items that the device can hold; control flow too, where it decides itself. What it cannot hold
/// stays.
void make_device_graphs(const Replay& replay, Recording& recording);

}  // namespace tern
