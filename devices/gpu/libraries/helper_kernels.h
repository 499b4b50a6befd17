// Tern's kernels beside the vendors' libraries.
#pragma once

#include <tern/device.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "devices/gpu/devices.h"

namespace tern::gpu {

/// Kernels of one source: `name` identifies the module to the compiler, `purpose` names them in messages ("masks").
struct HelperKernels {
  const char *name, *purpose;
  unsigned block;  ///< threads per block

  /// Compiles and loads the source (never unloaded), and finds its kernels.
  tern_device_status load(const GpuDevice& d, const std::string& text,
                          std::span<const std::pair<const char*, Function*>> kernels) const;
  tern_device_status launch(Function kernel, std::int64_t blocks, Stream stream, void** parameters) const;
  /// Number of blocks for this many threads.
  [[nodiscard]] constexpr std::int64_t blocks_for(std::int64_t threads) const { return (threads + block - 1) / block; }
};

}  // namespace tern::gpu
