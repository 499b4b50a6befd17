// Kernels between Tern's tensors and column-major matrices.
#pragma once

#include <tern/device.h>

#include <cstdint>

#include "devices/gpu/devices.h"
#include "devices/gpu/libraries/solver.h"

namespace tern::gpu {

/// A matrix of a tensor as the kernels read it; the same struct is in the text.
struct PackedInput {
  std::int64_t sizes[TERN_DEVICE_MAX_RANK] = {}, strides[TERN_DEVICE_MAX_RANK] = {};  ///< of the batch
  std::int64_t row = 0, column = 0;                                                   ///< strides
  std::int64_t matrix = 0;  ///< elements from matrix to matrix
  int rank = 0;             ///< of the batch
  int rows = 0, columns = 0;
  int triangle = 0;  ///< 1: the lower one is read, 2: the upper one; 0: all
};
struct PackedOutput {
  std::int64_t count = 0;                        ///< elements of the result
  std::int64_t matrix = 0, row = 0, column = 0;  ///< strides of what is read
  int rows = 0, columns = 0;                     ///< of the result
  int triangle = 0;                              ///< 1: the lower one, 2: the upper one; the rest is zero
  int conjugate = 0;
};

struct MatrixKernels {
  Function pack = nullptr, unpack = nullptr, finish = nullptr, leave = nullptr;

  /// The tensor's matrices to `to`. Elements that are not finite become 0, and `unfinished` of their matrix 1, which is
  /// 0 elsewhere. `a_places` and `tau_places`, unless they are 0, get the addresses of each matrix, and of each `steps`
  /// elements from `tau` on.
  tern_device_status pack_all(Stream stream, const tern_device_tensor& from, PackedInput how, Scalar type,
                              const Factors& f, Address unfinished, std::int64_t count, int steps) const;
  /// Row-major results of column-major matrices.
  tern_device_status unpack_all(Stream stream, Address from, Address to, PackedOutput how) const;
  /// `unfinished` of the matrices whose `info` is not 0 becomes 1; `result` of the others, unless it is 0, becomes 0.
  tern_device_status finish_all(Stream stream, Address unfinished, Address info, Address result,
                                std::int64_t count) const;
  /// All are unfinished.
  tern_device_status leave_all(Stream stream, Address unfinished, std::int64_t count) const;
};

/// Compiled once for each device and type. Null where the compiler is missing or the driver refuses them.
const MatrixKernels* matrix_kernels(const GpuDevice& d, Scalar type);

}  // namespace tern::gpu
