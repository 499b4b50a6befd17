// Microscaling (MX) scales in cuBLASLt's order: tiles of 128 rows by 4 scales, tile after tile along the rows, padded
// to whole tiles. Rows r, r + 32, r + 64 and r + 96 of a tile share 16 bytes.
#pragma once

#include <tern/device.h>

#include <cstdint>

#include "devices/gpu/devices.h"

namespace tern::gpu {

struct ScaleTileGrid {
  std::int64_t rows = 0, blocks = 0;  ///< scales of each row
  [[nodiscard]] std::uint64_t tile_bytes() const {
    return static_cast<std::uint64_t>((rows + 127) / 128 * ((blocks + 3) / 4) * 512);
  }
};

/// Returns this device's kernel for converting row-by-row scales to tiles (never unloaded). Null with a message after a
/// failure.
Function scale_tiles(const GpuDevice& d);
/// Enqueues the kernel on the stream.
tern_device_status make_scale_tiles(Function kernel, Stream stream, const ScaleTileGrid& grid, Address from,
                                    Address to);

}  // namespace tern::gpu
