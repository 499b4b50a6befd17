// Small reductions of ranks on one host, in memory that all of them read: one copy and one look at each other rank,
// where messages take several calls of an engine.
#pragma once

#include <tern/collective.h>

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "runtime/collective/transport.h"

namespace tern {

/// One thread at a time, as the transport's.
class SharedSums {
 public:
  /// What each rank has of Transport::shared.
  static constexpr std::size_t kBytes = 64 + 2 * (32 << 10), kAlignment = 64;

  SharedSums(Transport& transport, int rank, int ranks);
  /// Whether an all_reduce of so many bytes goes this way: the same on all ranks.
  bool takes(std::size_t bytes) const;
  /// As Algorithms::run: joins the ranks' elements in their order. Throws WaitedTooLong, or io if the group is
  /// interrupted.
  void all_reduce(const Collective& call, std::uint64_t tag, std::chrono::steady_clock::time_point end);

 private:
  struct Block;
  Block& block(int rank) const;
  void wait_for(int rank, std::uint64_t tag, std::chrono::steady_clock::time_point end) const;

  Transport& transport_;
  int rank_, ranks_;
  std::uint64_t calls_ = 0;  ///< the same on all ranks
};

}  // namespace tern
