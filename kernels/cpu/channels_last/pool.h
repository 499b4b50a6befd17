// Pools of channels-last images, of floats and of quantized integers.
#pragma once

#include <span>

#include "kernels/cpu/windows/window.h"

namespace tern::channels_last {

struct ChannelsLastPool {
  cpu::Window window;  ///< axis 0 of size 1
  std::int64_t batch = 1, channels = 1;
};

/// True if the channels fill a vector.
bool suits(const ChannelsLastPool& p);

/// Computes y [batch, ..., channels] = the maximum of each window of x; NaN wins.
void max_pool(const ChannelsLastPool& p, const float* x, float* y);
void max_pool(const ChannelsLastPool& p, const std::uint8_t* x, std::uint8_t* y);
void max_pool(const ChannelsLastPool& p, const std::int8_t* x, std::int8_t* y);
/// Divides the sum of each window by the product of its line's and its column's divisors.
void average_pool(const ChannelsLastPool& p, const float* x, std::span<const float> line_divisors,
                  std::span<const float> column_divisors, float* y);
/// Computes y [batch, channels] = the mean of all positions. The bits do not depend on the number of threads.
void mean(std::int64_t batch, std::int64_t lines, std::int64_t width, std::int64_t channels, const float* x, float* y);

}  // namespace tern::channels_last
