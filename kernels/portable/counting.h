// Ops with data-dependent result sizes: elements are counted block by block, the counts summed, the sum read back, and
// then every block knows the positions of its elements.
#pragma once

#include "kernels/portable/launches.h"

namespace tern::portable {

/// Offsets of the counting launches' results in the scratch. The total is at the begin: only the first user of a node's
/// scratch may count.
struct Counting {
  std::int64_t count = 0, block = 1, blocks = 0;
  std::uint64_t total = 0, counts = 0;
};

Counting make_counting(Launches& list, std::int64_t count);

/// Declares `counts`, and the parameters count, block and blocks.
void declare_counts(Launch& k, const Counting& n, bool writes);

/// `k` is a launch of text count_blocks, complete except for the counts; launches for the sums follow.
void add_counting(Launches& list, Launch k, const Counting& n);

/// Waits for the total and returns it.
std::int64_t read_total(KernelCall& call);

/// Output 0 with these sizes, `count` being the value of the node's symbol.
void allocate_result(KernelCall& call, std::int64_t count, std::span<const std::int64_t> sizes);

}  // namespace tern::portable
