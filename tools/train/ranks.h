// The ranks of a run of `tern train --group`: communication beside the collectives of a step.
#pragma once

#include <tern/collective.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tools/files/host_tensor.h"
#include "tools/train/checkpoint.h"

namespace tern::train {

/// Belongs to the thread of the run. All ranks call the same members in the same order. A single rank without a group.
class Ranks {
 public:
  Ranks() = default;
  explicit Ranks(std::shared_ptr<ProcessGroup> group) : group_(std::move(group)) {}

  int rank() const { return group_ ? group_->rank() : 0; }
  int size() const { return group_ ? group_->size() : 1; }
  bool alone() const { return size() == 1; }
  /// Rank 0 prints, and writes files.
  bool leads() const { return rank() == 0; }
  const std::shared_ptr<ProcessGroup>& group() const { return group_; }

  /// This rank's share of a batch: every size()-th sample from rank() on, the division of an epoch by
  /// torch.utils.data's DistributedSampler.
  std::vector<std::uint64_t> share(std::span<const std::uint64_t> samples) const;
  /// Size of share() for a number of samples.
  std::uint64_t share_size(std::uint64_t samples) const;

  /// Sums over all ranks, on all ranks.
  void add(std::span<double> numbers) const;
  /// The numbers of all ranks, in the order of ranks.
  std::vector<std::uint64_t> gather(std::span<const std::uint64_t> numbers) const;
  /// Copies rank 0's bytes to all ranks.
  void share_of_first(std::vector<std::byte>& bytes) const;
  void share_of_first(NamedTensors& file) const;

  /// Fails (invalid_argument) if a setting affecting the results differs from rank 0's, naming the setting.
  void require_same(const Settings& settings) const;
  /// A different stream of random numbers for each rank; rank 0 has the stream of a single-rank run.
  std::uint64_t seed_of(std::uint64_t seed) const;

 private:
  std::shared_ptr<ProcessGroup> group_;
};

/// Stops all ranks after the same step, on the first signal of any rank. The ranks exchange signals about ten times a
/// second, at steps chosen by rank 0's clock.
class CommonStop {
 public:
  /// `step`: first or continued step of the run.
  CommonStop(const Ranks& ranks, std::uint64_t step) : ranks_(ranks), previous_step_(step) {}
  /// `signal`: this rank's signal, or 0. `step`: current step of the run. Returns the largest of all ranks' signals.
  int operator()(int signal, std::uint64_t step);

 private:
  const Ranks& ranks_;
  std::uint64_t next_ = 0, previous_step_;
  std::chrono::steady_clock::time_point last_poll_ = std::chrono::steady_clock::now();
};

}  // namespace tern::train
