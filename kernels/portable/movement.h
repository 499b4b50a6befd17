// Copies of parts of tensors, as launches of a node.
#pragma once

#include <optional>
#include <span>

#include "kernels/portable/launches.h"

namespace tern::portable {

/// An integer or pair of the same size: copies ignore the elements' meaning.
DType carrier(DType t);

/// The part [start, start + length * step) of axis `axis` of `v`; adds the offset of its first element to *offset.
TensorView slice(const TensorView& v, int axis, std::int64_t start, std::int64_t length, std::int64_t step,
                 std::int64_t* offset);

/// Elements of operand `from` to output `to`, or to the node's scratch from byte `scratch` on, each through a view of
/// the same sizes starting at element `offset`.
struct CopyEnd {
  std::size_t argument = 0;
  TensorView view;
  std::int64_t offset = 0;
};
void add_copy(Launches& list, const CopyEnd& from, const CopyEnd& to,
              std::optional<std::uint64_t> scratch = std::nullopt);

/// Copies to output 0, in any order: devices with groups run several copies in a single launch.
struct Copy {
  CopyEnd source, target;
};
void add_copies(Launches& list, std::span<const Copy> copies);

/// Copies input 0 to output 0, unless the runtime gave both the same memory: for ops writing a part afterwards. Only
/// for kernels with run_over_input as `run`.
void add_start(const KernelCall& c, Launches& list);

/// Runs launches, without the first launch if output 0 shares the memory of input 0.
void run_over_input(KernelCall& call);

}  // namespace tern::portable
