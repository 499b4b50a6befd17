// A vendor library running nodes of one op in place of Tern's kernels, if the library supports the node.
#pragma once

#include <tern/device.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "devices/gpu/devices.h"
#include "devices/gpu/libraries/activation.h"
#include "devices/gpu/libraries/scaling.h"

namespace tern::gpu {

/// A prepared node. Never run by several threads at the same time.
class VendorKernel {
 public:
  VendorKernel() = default;
  virtual ~VendorKernel() = default;
  VendorKernel(const VendorKernel&) = delete;
  VendorKernel& operator=(const VendorKernel&) = delete;

  [[nodiscard]] virtual std::uint64_t scratch_bytes() const = 0;
  /// Enqueues the node on the stream. The device is current.
  virtual tern_device_status run(Stream stream, const tern_device_op& op, Address scratch) = 0;
  /// run_matrices of tern/device.h.
  virtual tern_device_status run_matrices(const tern_device_stream_s& stream, const tern_device_op& op, Address scratch,
                                          Address unfinished);
};

struct Provider {
  const char* op;
  /// True if the library supports nodes of these types and sizes; preparation may still refuse.
  bool (*supports)(const tern_device_op& op);
  /// Prepares the node with an activation of its result. Null if the library is missing or refuses: Tern's kernels run
  /// instead.
  std::unique_ptr<VendorKernel> (*prepare)(const GpuDevice& d, const tern_device_op& op, Activation activation);
  bool has_activations = true;  ///< otherwise only `none` is requested
};
/// Returns the provider of the op's nodes, or null.
const Provider* provider_of(const tern_device_op& op);

/// Providers of one vendor, defined by vendor code.
std::span<const Provider> vendor_providers();
/// Returns "cuDNN 9.19.0", or the reason for its absence; empty if the vendor has no further libraries.
std::string describe_vendor_libraries(const GpuDevice& d);

/// matmul, by cuBLASLt or hipBLASLt.
bool has_product(const tern_device_op& op);
std::unique_ptr<VendorKernel> prepare_product(const GpuDevice& d, const tern_device_op& op, Activation activation);
/// Prepares a product plus operand 3, laid out like the result. Operand 2, the bias, may be absent.
std::unique_ptr<VendorKernel> prepare_product_sum(const GpuDevice& d, const tern_device_op& op);
/// Prepares a float8 product with the scales of its operands as operands 3 and 4.
std::unique_ptr<VendorKernel> prepare_scaled_product(const GpuDevice& d, const tern_device_op& op, Scales scales);
/// True if block scales are already in tiles (devices/gpu/libraries/scale_tiles.h), else row by row: for the left and
/// the right operand.
struct BlockScales {
  bool a_in_tiles = false, b_in_tiles = false;
};
/// Prepares a float8 product of [.., k] and the transpose of [n, k]; scales of blocks of 32 follow the elements of each
/// operand.
std::unique_ptr<VendorKernel> prepare_microscaled_product(const GpuDevice& d, const tern_device_op& op,
                                                          const BlockScales& scales);
/// cholesky, eigh, lu_factor, qr and svd, by the vendor's solvers.
bool has_factorization(const tern_device_op& op);
std::unique_ptr<VendorKernel> prepare_factorization(const GpuDevice& d, const tern_device_op& op,
                                                    Activation activation);

}  // namespace tern::gpu
