// Kernels around attention with a mask: cuDNN adds a bias to the scores, and takes no booleans.
#pragma once

#include "devices/gpu/cuda/attention.h"
#include "devices/gpu/devices.h"

namespace tern::gpu {

struct MaskKernels {
  Function bias = nullptr, unseen = nullptr;

  /// The bias of the mask at `mask`, and for each of its rows in `seen` a byte: whether the query sees a key. Rows that
  /// see none get zeros, of which cuDNN makes an average.
  tern_device_status make_bias(Stream stream, const Attention& a, Address mask, Address bias, Address seen) const;
  /// The result of queries that see no key becomes zero.
  tern_device_status clear_unseen(Stream stream, const Attention& a, Address out, Address seen) const;
};

/// For masks and types as in `a`, compiled once for each device. Null where the compiler is missing or the driver
/// refuses them.
const MaskKernels* mask_kernels(const GpuDevice& d, const Attention& a);

}  // namespace tern::gpu
