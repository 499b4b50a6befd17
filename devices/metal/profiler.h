// The table "profiler": times of a stream's work by the GPU's clock.
#pragma once

#include <tern/device.h>

namespace tern::metal {

const tern_device_profiler_functions* profiler_functions();

}  // namespace tern::metal
