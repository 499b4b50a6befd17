// Early stopping: ends a run whose held-out loss does not improve any more, and goes back to the best epoch.
#pragma once

#include <tern/tern.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/files/host_tensor.h"
#include "tools/train/history.h"

namespace tern::train {

class Patience {
 public:
  /// `epochs`: epochs without a smaller held-out loss that end a run; 0: never.
  explicit Patience(std::uint64_t epochs = 0) : epochs_(epochs) {}

  bool waits() const { return epochs_ > 0; }
  /// Keeps the session's mutable states if the last epoch is the best one.
  void see(const Model& model, const Session& session, const History& history);
  bool is_over(const History& history) const;
  /// The epoch with the smallest held-out loss, the first of equal ones; empty without a finite loss.
  static std::optional<std::size_t> best_epoch(const History& history);
  /// Sets the session's states to those of the best epoch.
  void go_back(Session& session) const;

  /// The states of the best epoch in a checkpoint: best.NAME.
  void add_to(NamedTensors& checkpoint) const;
  /// Fails (bad_file) if the checkpoint has a best epoch, but not its states.
  void restore(const NamedTensors& checkpoint, const Model& model, const History& history);

 private:
  std::uint64_t epochs_;
  std::vector<std::pair<std::string, HostTensor>> best_states_;
};

}  // namespace tern::train
