// Tern's matmul as the vendors' libraries see it: matrices in column-major order. A row-major result [m, n] is one of n
// rows and m columns there, so the operands change places: D = op(A) op(B) + C with A of Tern's b and B of Tern's a.
#pragma once

#include <tern/device.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace tern::gpu {

struct Matrix {
  std::int64_t rows = 0, columns = 0;  ///< as it lies in memory, column-major
  std::int64_t leading = 0;            ///< elements from column to column
  std::int64_t batch_offset = 0;       ///< elements from matrix to matrix; 0: all the same
  bool transposed = false;             ///< the product takes its transpose
};

/// What is added to the product.
enum class Addend { none, vector, matrix };

/// Elements from the operands' first ones, for one call of the library.
struct Offsets {
  std::int64_t a = 0, b = 0, c = 0, d = 0;
};

struct Product {
  Matrix a, b, c, d;
  Addend addend = Addend::none;
  bool has_residual = false;  ///< C is added to a product that has a vector already
  [[nodiscard]] bool has_gaps() const { return d.leading != d.rows; }  ///< between the columns of d
  std::int32_t batch = 1;
  std::vector<Offsets> calls;  ///< batches that one stride cannot tell take several
};

/// Nothing where the libraries have no such product: strides that no leading dimension tells (expanded or flipped axes
/// of a matrix), empty operands, more than a few calls. Types are not looked at.
std::optional<Product> product_of(const tern_device_op& op);

}  // namespace tern::gpu
