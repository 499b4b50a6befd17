// What a library of the vendor runs in place of Tern's kernels: nodes of one op, as far as the library takes them.
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

/// A node that was prepared. Threads never run one at the same time.
class LibraryNode {
 public:
  LibraryNode() = default;
  virtual ~LibraryNode() = default;
  LibraryNode(const LibraryNode&) = delete;
  LibraryNode& operator=(const LibraryNode&) = delete;

  [[nodiscard]] virtual std::uint64_t scratch_bytes() const = 0;
  /// Puts the node on the stream. The device is current.
  virtual tern_device_status run(Stream stream, const tern_device_op& op, Address scratch) = 0;
  /// run_matrices of tern/device.h.
  virtual tern_device_status run_matrices(const tern_device_stream_s& stream, const tern_device_op& op, Address scratch,
                                          Address unfinished);
};

struct Provider {
  const char* op;
  /// Whether the library has such nodes, by their types and sizes; it may still refuse one.
  bool (*has)(const tern_device_op& op);
  /// The node and an activation of its result. Null where the library is missing or refuses them: Tern's kernels run
  /// them.
  std::unique_ptr<LibraryNode> (*prepare)(const GpuDevice& d, const tern_device_op& op, Activation activation);
  bool has_activations = true;  ///< otherwise it gets `none` only
};
/// The one that has the op's nodes; null for none.
const Provider* provider_of(const tern_device_op& op);

/// Those of one vendor; each vendor defines them.
std::span<const Provider> vendor_providers();
/// "cuDNN 9.19.0", or why it is not used; empty where the vendor has nothing of its own.
std::string describe_vendor_libraries(const GpuDevice& d);

/// matmul, by cuBLASLt or hipBLASLt.
bool has_product(const tern_device_op& op);
std::unique_ptr<LibraryNode> prepare_product(const GpuDevice& d, const tern_device_op& op, Activation activation);
/// A product and the sum of its result with operand 3, which lies as the result does. Operand 2, the bias, may be
/// absent.
std::unique_ptr<LibraryNode> prepare_product_sum(const GpuDevice& d, const tern_device_op& op);
/// A product of float8 whose operands 3 and 4 are the scales of the first two.
std::unique_ptr<LibraryNode> prepare_scaled_product(const GpuDevice& d, const tern_device_op& op, Scales scales);
/// Whether scales of blocks lie in tiles (devices/gpu/libraries/scale_tiles.h) already, else row by row: of the left
/// and the right operand.
struct BlockScales {
  bool a_in_tiles = false, b_in_tiles = false;
};
/// A product of float8 [.., k] and the transpose of [n, k]; behind the elements of each operand are the scales of its
/// blocks of 32.
std::unique_ptr<LibraryNode> prepare_microscaled_product(const GpuDevice& d, const tern_device_op& op,
                                                         const BlockScales& scales);
/// cholesky, eigh, lu_factor, qr and svd, by the vendor's solvers.
bool has_factorization(const tern_device_op& op);
std::unique_ptr<LibraryNode> prepare_factorization(const GpuDevice& d, const tern_device_op& op, Activation activation);

}  // namespace tern::gpu
