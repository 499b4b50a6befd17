// matmul in the vendors' terms: column-major matrices. A row-major result [m, n] is a column-major matrix of n rows and
// m columns, so the operands swap: D = op(A) op(B) + C with A from Tern's b and B from Tern's a.
#pragma once

#include <tern/device.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace tern::gpu {

struct Matrix {
  std::int64_t rows = 0, columns = 0;  ///< stored extents, column-major
  std::int64_t leading = 0;            ///< elements between columns
  std::int64_t batch_offset = 0;       ///< elements between matrices; 0: one matrix for all
  bool transposed = false;             ///< the product uses the transpose
};

/// Addend of the product.
enum class Addend { none, vector, matrix };

/// Element offsets of the operands for one library call.
struct Offsets {
  std::int64_t a = 0, b = 0, c = 0, d = 0;
};

struct Product {
  Matrix a, b, c, d;
  Addend addend = Addend::none;
  bool has_residual = false;  ///< C is added to a product already having a vector
  [[nodiscard]] bool has_gaps() const { return d.leading != d.rows; }  ///< True if columns of d are not adjacent.
  std::int32_t batch = 1;
  std::vector<Offsets> calls;  ///< several calls for batches not expressible by one stride
};

/// Returns nothing if the libraries have no such product: strides without a leading dimension (expanded or flipped
/// matrix axes), empty operands, or too many calls. Types are not checked.
std::optional<Product> product_of(const tern_device_op& op);

}  // namespace tern::gpu
