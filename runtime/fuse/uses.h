// A function during fusion: the producer and the readers of each value, and the place of each node.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/fuse/fuse.h"
#include "schema/program.h"

namespace tern {

inline constexpr std::size_t kMostFusedInstructions = 64;  // each value of an expression takes room in the first cache
inline constexpr std::size_t kMostFusedOperands = 16;

/// When a node runs: nodes run in ascending order. (n, n, 0) for node n where it was; (m, n, k) for one that was moved
/// behind node m, or was made for node n.
using Place = std::array<std::uint32_t, 3>;

/// Facts about a value.
struct Use {
  std::int32_t producer = -1;  ///< node, or -1 for an input
  std::int32_t readers = 0;    ///< nodes
  bool pinned = false;         ///< an output or written back
  bool written_back = false;
  bool written = false;  ///< an input whose memory the function changes
};

std::vector<ValueId> distinct(const std::vector<ValueId>& values);

class FunctionInFusion {
 public:
  explicit FunctionInFusion(Function exported);
  FusedFunction finish();

  Function f;
  std::vector<bool> gone;              ///< for each node
  std::vector<Place> places;           ///< for each node
  std::vector<std::uint32_t> numbers;  ///< for each node: its number as exported

  Use& use(ValueId v) { return uses_[static_cast<std::size_t>(v)]; }
  const TensorType& type(ValueId v) const { return f.values[static_cast<std::size_t>(v)].type; }
  bool one_element(ValueId v) const;
  /// An operand or result of the node is of packed pairs, which are not addressed one by one.
  bool has_pairs(const Node& n) const;

  /// The node in the same section that makes `v` with `reader` as its only reader; -1 if there is none.
  std::int32_t only_producer(ValueId v, std::uint32_t reader);
  /// The place of the last of the nodes that make the operands.
  Place operands_made(const std::vector<ValueId>& operands);
  /// Whether node `i` may run at `place`, later than it does, without holding more memory for much longer, and without
  /// keeping a state from being overwritten where it lies.
  bool may_wait(std::uint32_t i, Place place);

  /// Gives node `i` these operands in place of those that it and the nodes `taken` read. The latter go.
  void take_over(std::uint32_t i, const std::vector<std::uint32_t>& taken, std::vector<ValueId> operands);
  /// A new reshape of `v` that runs at `place`, in the section of node `near`; its result.
  ValueId reshape(ValueId v, const Dims& shape, Place place, std::uint32_t near);
  /// Node `i` makes its elements in another shape, and a reshape right after it makes the result of them.
  void give_shape(std::uint32_t i, const Dims& shape);

 private:
  void add_reshape(ValueId from, ValueId to, Place place, std::uint32_t near);

  std::vector<Use> uses_;
  std::vector<std::uint32_t> sections_;
};

/// Merges into pointwise node `i` the pointwise nodes whose results only `i` reads. False if there are none;
/// otherwise their producers may now qualify too.
bool merge_operands(FunctionInFusion& f, std::uint32_t i);
/// Makes pointwise node `i` the epilogue of a product or convolution whose result only `i` reads.
void join_product(FunctionInFusion& f, std::uint32_t i);
/// Makes lu_factor a part of lu_solve node `i`, if it alone reads the factors (cpu::solves_unfactored).
void join_factor(FunctionInFusion& f, std::uint32_t i);

}  // namespace tern
