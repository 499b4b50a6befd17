// Small reductions of ranks on one host through shared memory: one copy and one read of each other rank, instead of
// several engine calls per message.
#pragma once

#include <tern/collective.h>

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "runtime/collective/transport.h"

namespace tern {

/// Not thread-safe, like the transport.
class SharedSums {
 public:
  /// Size and alignment of each rank's Transport::shared.
  static constexpr std::size_t kBytes = 64 + 2 * (32 << 10), kAlignment = 64;

  SharedSums(Transport& transport, int rank, int ranks);
  /// True if an all_reduce of so many bytes uses shared memory; equal on all ranks.
  bool supports_size(std::size_t bytes) const;
  /// Like Algorithms::run, combines the elements in rank order. Throws WaitedTooLong, or io after an interrupt.
  void all_reduce(const Collective& call, std::uint64_t tag, std::chrono::steady_clock::time_point end);

 private:
  struct Block;
  Block& block(int rank) const;
  void wait_for(int rank, std::uint64_t tag, std::chrono::steady_clock::time_point end) const;

  Transport& transport_;
  int rank_, ranks_;
  std::uint64_t calls_ = 0;  ///< equal on all ranks
};

}  // namespace tern
