// A function during fusion: producer and readers of each value, and position of each node.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/fuse/fuse.h"
#include "schema/program.h"

namespace tern {

inline constexpr std::size_t kMaxFusedInstructions = 64;  // values of an expression must fit the first-level cache
inline constexpr std::size_t kMaxFusedOperands = 16;

/// Execution order: nodes run in ascending order of positions. (n, n, 0) for unmoved node n; (m, n, k) for a node moved
/// behind node m, or created for node n.
using NodePosition = std::array<std::uint32_t, 3>;

/// Facts about a value.
struct ValueUse {
  std::int32_t producer = -1;  ///< node, or -1 for an input
  std::int32_t readers = 0;    ///< nodes
  bool pinned = false;         ///< an output or written back
  bool written_back = false;
  bool written = false;  ///< an input whose memory is written by the function
};

std::vector<ValueId> distinct(const std::vector<ValueId>& values);

class FunctionInFusion {
 public:
  explicit FunctionInFusion(Function exported);
  FusedFunction finish();

  Function f;
  std::vector<bool> is_removed;         ///< indexed by node
  std::vector<NodePosition> positions;  ///< indexed by node
  std::vector<std::uint32_t> numbers;   ///< exported number of each node

  ValueUse& value_use(ValueId v) { return value_uses_[static_cast<std::size_t>(v)]; }
  const TensorType& type(ValueId v) const { return f.values[static_cast<std::size_t>(v)].type; }
  bool one_element(ValueId v) const;
  /// True if an operand or result of the node has packed pairs; their elements are not addressable.
  bool has_pairs(const Node& n) const;

  /// Returns the producer of `v` in the same section if `reader` is the only reader; else -1.
  std::int32_t only_producer(ValueId v, std::uint32_t reader);
  /// Returns the producer of `v` in the section of node `reader`; else -1.
  std::int32_t producer_in_section(ValueId v, std::uint32_t reader);
  /// Returns the position of the last producer among the operands.
  NodePosition operands_position(const std::vector<ValueId>& operands);
  /// True if node `i` may be moved to the later `position` without holding more memory for long and without preventing
  /// a state's in-place update.
  bool may_move(std::uint32_t i, NodePosition position);

  /// Replaces the operands of node `i` and of the merged nodes `merged` by `operands`. Removes the nodes `merged`.
  void merge_nodes(std::uint32_t i, const std::vector<std::uint32_t>& merged, std::vector<ValueId> operands);
  /// Removes the producer of `v` if nothing reads its results and it has no other effect; then the producers of its
  /// operands likewise.
  void remove_unread(ValueId v);
  /// Adds a result to node `i`; returns it.
  ValueId add_result(std::uint32_t i, TensorType type);
  /// Adds a reshape of `v` at `position`, in the section of node `near`; returns its result.
  ValueId reshape(ValueId v, const Dims& shape, NodePosition position, std::uint32_t near);
  /// Changes the result shape of node `i` and adds a reshape back to the old shape right after the node.
  void give_shape(std::uint32_t i, const Dims& shape);

 private:
  void add_reshape(ValueId from, ValueId to, NodePosition position, std::uint32_t near);

  std::vector<ValueUse> value_uses_;
  std::vector<std::uint32_t> sections_;
};

/// Merges into pointwise node `i` the pointwise nodes read by `i` only. Returns false if none exist; otherwise their
/// producers may now qualify too.
bool merge_operands(FunctionInFusion& f, std::uint32_t i);
/// Makes pointwise node `i` the epilogue of a product or convolution read by `i` only.
void join_product(FunctionInFusion& f, std::uint32_t i);
/// Computes the operand of reduce node `i` by the pointwise node read by `i` only, as a prologue (schema/epilogue.h).
void join_reduction(FunctionInFusion& f, std::uint32_t i);
/// Computes the mask of attention node `i` by the node itself, as a score function (schema/epilogue.h).
void join_mask(FunctionInFusion& f, std::uint32_t i);
/// Makes attention of softmax node `i` and the products before and behind it.
void join_softmax(FunctionInFusion& f, std::uint32_t i);
/// Merges lu_factor into its only reader, lu_solve node `i` (cpu::solves_unfactored).
void join_factor(FunctionInFusion& f, std::uint32_t i);

}  // namespace tern
