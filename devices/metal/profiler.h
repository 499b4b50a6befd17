// The table "profiler": times of what a stream runs, by the GPU's clock.
#pragma once

#include <tern/device.h>

namespace tern::metal {

const tern_device_profiler_functions* profiler_functions();

}  // namespace tern::metal
