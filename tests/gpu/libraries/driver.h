// The stand-ins use the emulated driver like the real libraries: load kernels and launch on the caller's stream, so
// that late streams and captures see the launches.
#pragma once

#include <cstddef>

#include "devices/gpu/api.h"

namespace tern::stand_in {

/// The driver of this process, opened by the plugin.
const gpu::Api& driver();

/// The named function in the stand-ins' kernels, on the thread's current device; null if the driver refuses.
gpu::Function load(const char* name);

/// Launches the function with a single parameter.
gpu::Status launch(gpu::Function function, const void* parameter, gpu::Stream stream);

/// True for an injected failure: TERN_STAND_IN_FAILS is a part of the function's name.
bool is_to_fail(const char* function);

/// Ends the process with a message: the call breaks a rule of the library's manual.
[[noreturn]] void misuse(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace tern::stand_in
