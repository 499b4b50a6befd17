// Kernels for masked attention: cuDNN adds a bias to the scores, and does not support boolean masks.
#pragma once

#include "devices/gpu/cuda/attention.h"
#include "devices/gpu/devices.h"

namespace tern::gpu {

struct MaskKernels {
  Function bias = nullptr, unseen = nullptr;

  /// Computes the bias from the mask at `mask`, and for each mask row a byte in `seen`: 1 if the query sees any key.
  /// Fully masked rows get zeros, so cuDNN computes an average there.
  tern_device_status make_bias(Stream stream, const Attention& a, Address mask, Address bias, Address seen) const;
  /// Zeroes the results of queries without visible keys.
  tern_device_status clear_unseen(Stream stream, const Attention& a, Address out, Address seen) const;
};

/// Returns kernels for the masks and types of `a`, compiled once per device. Null if the compiler is missing or the
/// driver refuses the kernels.
const MaskKernels* mask_kernels(const GpuDevice& d, const Attention& a);

}  // namespace tern::gpu
