// Enumerations of attributes of windows, sampling, recurrence and transforms.
#pragma once

#include <cstdint>

namespace tern {

// The values are part of the archive format.

/// Attribute `kind` of pool and adaptive_pool.
enum class PoolKind : std::uint8_t { max = 0, avg = 1 };
inline constexpr int kPoolKindCount = 2;

/// Attribute `mode` of resize. `nearest` is PyTorch's own, floor(i * scale); `nearest_exact` rounds pixel centres.
enum class ResizeMode : std::uint8_t { nearest = 0, nearest_exact = 1, linear = 2, cubic = 3, lanczos = 4 };
inline constexpr int kResizeModeCount = 5;

/// Attribute `mode` of grid_sample; numbered as PyTorch does.
enum class GridMode : std::uint8_t { linear = 0, nearest = 1, cubic = 2 };
inline constexpr int kGridModeCount = 3;

/// Attribute `kind` of grid_sample: values outside the input; numbered as PyTorch does.
enum class GridPadding : std::uint8_t { zeros = 0, border = 1, reflection = 2 };
inline constexpr int kGridPaddingCount = 3;

/// Attribute `kind` of rnn.
enum class RnnKind : std::uint8_t { lstm = 0, gru = 1, tanh = 2, relu = 3 };
inline constexpr int kRnnKindCount = 4;

/// Attribute `kind` of roi_align: the mean of bilinear samples, the largest element, and for position-sensitive kinds
/// (each bin reads its own channels) the mean of samples or of elements.
enum class RoiKind : std::uint8_t { align = 0, pool = 1, position_align = 2, position_pool = 3 };
inline constexpr int kRoiKindCount = 4;

}  // namespace tern
