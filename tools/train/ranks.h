// The ranks of a run of `tern train --group`: what they tell each other beside the collectives of a step.
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

/// Belongs to the thread of the run. All ranks call the same members in the same order. Without a group it is one rank.
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

  /// This rank's part of a batch, one after the other: every size()-th sample from rank() on, as torch.utils.data's
  /// DistributedSampler divides an epoch.
  std::vector<std::uint64_t> share(std::span<const std::uint64_t> samples) const;
  /// How many samples share() gives of so many.
  std::uint64_t share_size(std::uint64_t samples) const;

  /// Sums of all ranks, on all ranks.
  void add(std::span<double> numbers) const;
  /// What each rank gives, in the order of ranks.
  std::vector<std::uint64_t> gather(std::span<const std::uint64_t> numbers) const;
  /// Rank 0's, on all ranks.
  void share_of_first(std::vector<std::byte>& bytes) const;
  void share_of_first(NamedTensors& file) const;

  /// Fails (invalid_argument) where a setting that decides about the numbers is not rank 0's, and names it.
  void require_same(const Settings& settings) const;
  /// Another stream of random numbers for each rank; rank 0's is that of a run alone.
  std::uint64_t seed_of(std::uint64_t seed) const;

 private:
  std::shared_ptr<ProcessGroup> group_;
};

/// When all ranks stop after a step: the first signal that any of them got. They ask each other about ten times a
/// second, at steps that rank 0's clock chooses.
class CommonStop {
 public:
  /// `step`: of the run, where it begins or continues.
  CommonStop(const Ranks& ranks, std::uint64_t step) : ranks_(ranks), before_(step) {}
  /// `signal`: what this rank got, or 0. `step`: of the run. Returns the largest of all ranks' signals.
  int operator()(int signal, std::uint64_t step);

 private:
  const Ranks& ranks_;
  std::uint64_t next_ = 0, before_;
  std::chrono::steady_clock::time_point asked_ = std::chrono::steady_clock::now();
};

}  // namespace tern::train
