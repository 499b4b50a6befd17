// Implements every kind of collective by messages between pairs of ranks. Reductions combine the elements in rank
// order, so the bits of a result depend neither on the engine nor on the element count.
#pragma once

#include <tern/collective.h>

#include <cstddef>
#include <functional>
#include <vector>

#include "runtime/collective/messages.h"
#include "runtime/collective/shared_sums.h"

namespace tern {

class Algorithms {
 public:
  Algorithms(Transport& transport, int rank, int ranks)
      : messages_(transport), shared_sums_(transport, rank, ranks), rank_(rank), ranks_(ranks) {}
  /// Runs a checked call. `tag` is equal on all ranks and different for every call.
  void run(const Collective& call, std::uint64_t tag, std::chrono::steady_clock::time_point end);
  /// Runs point-to-point messages with one tag per call. `waits` receives the index of each call before the wait for
  /// that call.
  void run_batch(std::span<const Collective> calls, std::span<const std::uint64_t> tags,
                 std::chrono::steady_clock::time_point end, const std::function<void(std::size_t)>& waits);

 private:
  using Offsets = std::vector<std::int64_t>;
  void all_reduce(const Collective& c, std::uint64_t tag, std::chrono::steady_clock::time_point end);
  void join_all(const Collective& c);
  void join_shares(const Collective& c, const Offsets& begins, std::byte* out, bool everywhere);
  void join_inputs(const Collective& c, std::byte* joined, std::int64_t count);
  void gather_segments(const Collective& c, const Offsets& begins, bool everywhere);
  void broadcast(const Collective& c);
  void scatter(const Collective& c);
  void all_to_all(const Collective& c);
  void check_splits(const Collective& c);
  void barrier();
  /// Offsets of the ranks' segments plus the end offset: of equal segments, of shares differing by at most 1, or of
  /// listed lengths.
  const Offsets& offsets_of(std::span<const std::int64_t> lengths, Offsets& offsets) const;
  const Offsets& equal_offsets(std::int64_t length);
  const Offsets& share_offsets(std::int64_t count);
  std::byte* scratch(std::size_t bytes);

  Messages messages_;
  SharedSums shared_sums_;
  int rank_, ranks_;
  Offsets offsets_, peer_splits_;
  std::vector<const std::byte*> inputs_;  ///< inputs of the current piece, by rank
  std::vector<std::byte> scratch_, scaled_;
  std::vector<Messages::Number> numbers_;
};

}  // namespace tern
