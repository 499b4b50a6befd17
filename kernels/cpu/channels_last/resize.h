// Resizes of channels-last float images.
#pragma once

#include "kernels/cpu/windows/resize_table.h"

namespace tern::channels_last {

/// Computes y [batch, lines.out, columns.out, channels] from x [batch, lines.in, columns.in, channels], the columns
/// first. Each result line reads a run of at most `taps` lines, as without antialiasing.
void resize(const cpu::ResizeTable<float>& lines, const cpu::ResizeTable<float>& columns, std::int64_t batch,
            std::int64_t channels, const float* x, float* y);

}  // namespace tern::channels_last
