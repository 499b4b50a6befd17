// Reads of a weight that may be a quantized value.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "exporter/builder.h"
#include "exporter/passes/constant_part.h"
#include "schema/program.h"

namespace tern::quantized {

/// A weight of floats as a matrix [rows, columns]: the elements of a row are multiplied or selected together.
struct WeightRead {
  std::size_t operand = 0;  ///< number of the operand
  std::int64_t rows = 0, columns = 0;
  std::int64_t planes = 1;          ///< matrices that share the rows
  bool is_transposed = false;       ///< the weight has its rows along its last axis, in each plane
  std::vector<std::int64_t> shape;  ///< shape of the quantized value
};

/// The weight of a product of floats, also of batches and groups, of a convolution, or of a table whose rows are
/// selected or added up in bags; empty for other nodes, and for weights of unknown sizes.
std::optional<WeightRead> read_of(const Function& f, const Node& n);

/// The node reads `weight`, the quantized value, as that operand from now on. Adds the nodes that have to go before it:
/// a bag reads the rows of its indices, which are selected first.
void read_instead(Builder& b, Node& n, std::size_t operand, ValueId weight);

/// Marks nodes that select rows of a constant table, and products that read the same states. States that other nodes
/// read are no tables: they stay as they are, and are stored once.
std::vector<bool> table_readers(const Function& f, const ConstantPart& constants);

}  // namespace tern::quantized
