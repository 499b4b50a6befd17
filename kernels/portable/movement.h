// Copies of parts of tensors, as launches of a node.
#pragma once

#include <optional>
#include <span>

#include "kernels/portable/launches.h"

namespace tern::portable {

/// An integer or pair of as many bytes: copies do not look at what elements mean.
DType carrier(DType t);

/// The part [start, start + length * step) of axis `axis` of `v`; adds to *offset the elements by which it begins
/// later.
TensorView part(const TensorView& v, int axis, std::int64_t start, std::int64_t length, std::int64_t step,
                std::int64_t* offset);

/// Elements of operand `from` to output `to`, or to the node's scratch from byte `scratch` on, each seen through a view
/// of the same sizes that begins `offset` elements into it.
struct CopyEnd {
  std::size_t argument = 0;
  TensorView view;
  std::int64_t offset = 0;
};
void add_copy(Launches& list, const CopyEnd& from, const CopyEnd& to,
              std::optional<std::uint64_t> scratch = std::nullopt);

/// Copies to output 0, in any order: on devices with groups several are one launch.
struct Copy {
  CopyEnd from, to;
};
void add_copies(Launches& list, std::span<const Copy> copies);

/// Output 0 becomes input 0, unless the runtime has given both the same memory: for ops that then write a part.
/// Only for kernels whose `run` is run_over_input.
void add_start(const KernelCall& c, Launches& list);

/// As run_launches, without the first launch where output 0 lies where input 0 does.
void run_over_input(KernelCall& call);

}  // namespace tern::portable
