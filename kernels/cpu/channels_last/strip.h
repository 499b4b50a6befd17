// Selects depthwise convolutions with a loop for whole lines of windows.
#pragma once

#include "kernels/cpu/channels_last/loops.h"
#include "kernels/cpu/windows/window.h"

namespace tern::channels_last {

/// Returns the loop of `of` (Loops::strip, or narrow_strip) for such windows, or null.
StripLoop strip_loop(const cpu::Window& window, const StripLoop (&of)[2][2]);
/// Returns the loop of Loops::wide_strip for such windows, or null.
StripLoop wide_strip_loop(const cpu::Window& window, const StripLoop (&of)[2]);

}  // namespace tern::channels_last
