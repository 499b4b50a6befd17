// Ops whose results have a size that only the data determine: elements are counted block by block, the counts summed,
// the sum read back, and then every block knows where its elements go.
#pragma once

#include "kernels/portable/launches.h"

namespace tern::portable {

/// Where the launches that count leave their numbers in the scratch. The total lies at its begin: only for the first
/// user of a node's scratch.
struct Counting {
  std::int64_t count = 0, block = 1, blocks = 0;
  std::uint64_t total = 0, counts = 0;
};

Counting make_counting(Launches& list, std::int64_t count);

/// Declares `counts`, and the parameters count, block and blocks.
void declare_counts(Launch& k, const Counting& n, bool writes);

/// `k` is a launch of text count_blocks that lacks only the counts; sums follow it.
void add_counting(Launches& list, Launch k, const Counting& n);

/// The total, after waiting for it.
std::int64_t read_total(KernelCall& call);

/// Output 0 with these sizes, `count` being the value of the node's symbol.
void allocate_result(KernelCall& call, std::int64_t count, std::span<const std::int64_t> sizes);

}  // namespace tern::portable
