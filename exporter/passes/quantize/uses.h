// Readers of a program's weights.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "schema/program.h"

namespace tern::quantize {

/// Part of a state that a node reads as a matrix: [n, k] for products, [rows, columns] for embeddings, [o, i * kernel]
/// for convolutions. Experts and batches of products have several, one below the other. In elements of the storage.
struct MatrixPart {
  std::uint32_t storage = 0;
  std::int64_t offset = 0, rows = 0, columns = 0, row_stride = 0, column_stride = 0;
  std::int64_t planes = 1, plane_stride = 0;  ///< matrices of `rows` rows
  bool batched = false;                       ///< the quantized value has an axis of planes

  friend auto operator<=>(const MatrixPart&, const MatrixPart&) = default;
};

/// A node that reads a weight in a way that quantized values can be read.
struct WeightUse {
  std::uint32_t function = 0;
  std::size_t node = 0;
  bool product = false;  ///< also of groups, and a convolution; else an embedding
  MatrixPart matrix;
};

/// All about one storage of floats.
struct Weight {
  std::uint32_t state = 0;  ///< the first that views it
  DType type = DType::invalid;
  std::vector<WeightUse> uses;
  std::string obstacle;  ///< reason to stay a tensor of floats; empty if there is none
};

/// Weights by storage: immutable floats of at most 32 bits and two axes or more that a node reads.
std::map<std::uint32_t, Weight> weights_of(const Program& program);

}  // namespace tern::quantize
