// Kernels converting between Tern's tensors and column-major matrices.
#pragma once

#include <tern/device.h>

#include <cstdint>

#include "devices/gpu/devices.h"
#include "devices/gpu/libraries/solver.h"

namespace tern::gpu {

/// A matrix of a tensor, as read by the kernels; the kernel source contains the same struct.
struct PackedInput {
  std::int64_t sizes[TERN_DEVICE_MAX_RANK] = {}, strides[TERN_DEVICE_MAX_RANK] = {};  ///< batch axes
  std::int64_t row = 0, column = 0;                                                   ///< strides
  std::int64_t matrix = 0;                                                            ///< elements between matrices
  int rank = 0;                                                                       ///< number of batch axes
  int rows = 0, columns = 0;
  int triangle = 0;  ///< 1: reads the lower triangle, 2: the upper; 0: all elements
};
struct PackedOutput {
  std::int64_t count = 0;                        ///< element count of the result
  std::int64_t matrix = 0, row = 0, column = 0;  ///< strides of the source
  int rows = 0, columns = 0;                     ///< extents of the result
  int triangle = 0;                              ///< 1: writes the lower triangle, 2: the upper, zeros elsewhere
  int conjugate = 0;
};

struct MatrixKernels {
  Function pack = nullptr, unpack = nullptr, finish = nullptr, leave = nullptr;

  /// Packs the tensor's matrices into `to`. Non-finite elements become 0 and set their matrix's `unfinished` to 1 (else
  /// 0). `a_places` and `tau_places` (unless 0) receive the addresses of each matrix and of each `steps` elements of
  /// `tau`.
  tern_device_status pack_all(Stream stream, const tern_device_tensor& from, PackedInput how, LapackScalar type,
                              const Factors& f, Address unfinished, std::int64_t count, int steps) const;
  /// Unpacks column-major matrices into row-major results.
  tern_device_status unpack_all(Stream stream, Address from, Address to, PackedOutput how) const;
  /// Sets `unfinished` to 1 for matrices with non-zero `info`, and `result` (unless 0) to 0 for all others.
  tern_device_status finish_all(Stream stream, Address unfinished, Address info, Address result,
                                std::int64_t count) const;
  /// Marks all matrices as unfinished.
  tern_device_status leave_all(Stream stream, Address unfinished, std::int64_t count) const;
};

/// Returns kernels compiled once per device and type. Null if the compiler is missing or the driver refuses the
/// kernels.
const MatrixKernels* matrix_kernels(const GpuDevice& d, LapackScalar type);

}  // namespace tern::gpu
