// The algorithms of matmul. Each prepares itself for a node, or declines: null.
#pragma once

#include <memory>
#include <optional>

#include "kernels/cpu/algorithms.h"
#include "kernels/cpu/products/float32/in_place_driver.h"

namespace tern::cpu {

/// A product that reads the second operand where it lies. The other operands and the result are float32 while it is
/// made.
struct InPlace {
  LinearShape shape;
  bool convert_x = false, convert_bias = false, convert_y = false;
  bool bf16 = false;         ///< but x is multiplied in bfloat16, as the second operand
  bool uses_onednn = false;  ///< oneDNN multiplies bfloat16 faster, here
};

/// Rows that are multiplied as fast widened as by oneDNN in bfloat16: what takes time is reading the weight.
inline constexpr std::int64_t kFewRows = 8;

/// The properties of a node by which algorithms decide.
struct ProductProperties {
  explicit ProductProperties(const KernelCall& call);
  const KernelCall& call;
  std::optional<InPlace> linear;  ///< present if columns of the second operand lie in one piece each
  bool floats = false;            ///< `linear`, of float32 alone
  bool float_call = false;        ///< the same but for the second operand, of any type that `linear` reads
  std::int64_t m = 0, n = 0, k = 0;
  double products() const { return static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k); }
};

std::unique_ptr<PreparedAlgorithm> prepare_onednn(const ProductProperties& p);
std::unique_ptr<PreparedAlgorithm> prepare_tiles(const ProductProperties& p);
/// The same for small products with long sums, and batches of them.
std::unique_ptr<PreparedAlgorithm> prepare_tiles_long_sums(const ProductProperties& p);
std::unique_ptr<PreparedAlgorithm> prepare_panels(const ProductProperties& p);
std::unique_ptr<PreparedAlgorithm> prepare_in_place(const ProductProperties& p);
/// Only a quantized second operand.
std::unique_ptr<PreparedAlgorithm> prepare_quantized(const ProductProperties& p);
/// Integers of 8 bits by a packed weight; a constant weight is packed once.
std::unique_ptr<PreparedAlgorithm> prepare_integer_rows(const ProductProperties& p);
/// The same of few rows, which read the weight where it lies.
std::unique_ptr<PreparedAlgorithm> prepare_integer_dots(const ProductProperties& p);
/// Copies rows first, and takes the best of the other algorithms for the call of these rows; null for others.
std::unique_ptr<PreparedAlgorithm> prepare_dense_rows(const KernelCall& call);
/// The best of the others.
std::unique_ptr<AlgorithmState> prepare_product(const KernelCall& call);
/// Strided operands of all types: takes every node.
std::unique_ptr<PreparedAlgorithm> prepare_blocks(const ProductProperties& p);

}  // namespace tern::cpu
