#include "kernels/portable/counting.h"

#include <algorithm>

#include "kernels/portable/scan_groups.h"

namespace tern::portable {
namespace {

constexpr std::int64_t kSmallBlock = 64, kCountingManyBlocks = 4096;

}  // namespace

Counting make_counting(Launches& list, std::int64_t count) {
  Counting n;
  n.count = count;
  n.block = std::max(kSmallBlock, (count + kCountingManyBlocks - 1) / kCountingManyBlocks);
  n.blocks = (count + n.block - 1) / n.block;
  n.total = list.scratch(sizeof(std::int64_t));
  n.counts = list.scratch(static_cast<std::uint64_t>(n.blocks) * sizeof(std::int64_t));
  return n;
}

void declare_counts(Launch& k, const Counting& n, bool writes) {
  k.scratch("counts", n.counts, DType::i64, writes);
  k.parameter("count", n.count);
  k.parameter("block", n.block);
  k.parameter("blocks", n.blocks);
}

void add_counting(Launches& list, Launch k, const Counting& n) {
  if (list.target().groups && n.blocks > 0) {
    Counting found = n;
    found.counts = list.scratch(static_cast<std::uint64_t>(n.blocks) * sizeof(std::int64_t));
    declare_counts(k, found, true);
    list.add(std::move(k), n.blocks);
    return start_sums(list, n.blocks, n.counts, n.total, [&](Launch& sums) {
      sums.scratch("counts", found.counts, DType::i64, false);
      sums.source.define("READ(line, k, v, place)", "v = counts[k];");
    });
  }
  declare_counts(k, n, true);
  list.add(std::move(k), n.blocks);
  Launch sums("prefix_sums");
  sums.scratch("counts", n.counts, DType::i64, true);
  sums.scratch("total", n.total, DType::i64, true);
  sums.parameter("blocks", n.blocks);
  list.add(std::move(sums), 1);
}

std::int64_t read_total(KernelCall& call) {
  std::int64_t total = 0;
  call.launcher->download(&total, call.scratch.data(), sizeof total);
  return total;
}

void allocate_result(KernelCall& call, std::int64_t count, std::span<const std::int64_t> sizes) {
  call.allocator->set_symbol(0, count);
  call.allocator->allocate(0, sizes, &call.out[0]);
}

}  // namespace tern::portable
