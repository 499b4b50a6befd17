// Scales of microscaling in the order in which cuBLASLt reads them: tiles of 128 rows by 4 scales, a tile after the
// other along the rows, padded to whole ones. In a tile the rows r, r + 32, r + 64 and r + 96 share 16 bytes.
#pragma once

#include <tern/device.h>

#include <cstdint>

#include "devices/gpu/devices.h"

namespace tern::gpu {

struct ScaleGrid {
  std::int64_t rows = 0, blocks = 0;  ///< scales of each row
  [[nodiscard]] std::uint64_t tile_bytes() const {
    return static_cast<std::uint64_t>((rows + 127) / 128 * ((blocks + 3) / 4) * 512);
  }
};

/// The kernel that brings scales, row by row, into tiles: of this device, for the lifetime of the process. Null with a
/// message where it cannot be made.
Function scale_tiles(const GpuDevice& d);
/// Puts it on the stream.
tern_device_status make_scale_tiles(Function kernel, Stream stream, const ScaleGrid& grid, Address from, Address to);

}  // namespace tern::gpu
