// How a stand-in for a vendor's library reaches the emulated driver, as the real one does: it loads kernels and
// launches them on the caller's stream, so that late streams and captures see them.
#pragma once

#include <cstddef>

#include "devices/gpu/api.h"

namespace tern::stand_in {

/// The driver of this process, which the plugin has opened.
const gpu::Api& driver();

/// The function of this name in the stand-ins' kernels, in the device that is current on this thread; null if the
/// driver refuses it.
gpu::Function load(const char* name);

/// Launches it with one parameter.
gpu::Status launch(gpu::Function function, const void* parameter, gpu::Stream stream);

/// Whether this call is to fail: TERN_STAND_IN_FAILS is a part of the function's name.
bool is_to_fail(const char* function);

/// Ends the process with a message: a call that breaks a rule of the library's manual.
[[noreturn]] void misuse(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace tern::stand_in
