// Attention of the stand-in for cuDNN: computes the graph's operations one by one, and accepts the graphs of its
// engines.
#pragma once

#include <tern/dtype.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "tests/gpu/libraries/cudnn/objects.h"

namespace tern::stand_in {

struct GraphTensor {
  DType dtype = DType::f32;
  std::int64_t number = 0, alignment = 1;
  std::int64_t sizes[4], strides[4];
  bool is_virtual = false, is_value = false;
  std::uint64_t address = 0;
  double value = 0;

  [[nodiscard]] std::int64_t count() const { return sizes[0] * sizes[1] * sizes[2] * sizes[3]; }
};

struct GraphStep {
  int kind, mode;
  std::int64_t axis;
  int x, b, t, y;  ///< tensors; -1: none
};

struct AttentionGraph {
  std::vector<GraphTensor> tensors;
  std::vector<GraphStep> steps;
};

/// True for graphs that begin with a product.
bool is_attention(const Object& graph);
/// nullopt for a graph without engine. Ends the process for a graph that breaks a rule.
std::optional<AttentionGraph> read_attention(const Object& graph);
/// Computes each operation in double and rounds its results.
void run_attention(const AttentionGraph& graph);

}  // namespace tern::stand_in
