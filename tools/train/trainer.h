// Trains a model: epochs, batches, steps, checkpoints.
#pragma once

#include <tern/tern.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tools/train/checkpoint.h"
#include "tools/train/data.h"
#include "tools/train/folder.h"
#include "tools/train/history.h"
#include "tools/train/method.h"
#include "tools/train/method_run.h"
#include "tools/train/options.h"
#include "tools/train/ranks.h"
#include "tools/train/schedule.h"
#include "tools/train/shuffle.h"

namespace tern::train {

/// What people see while it works.
struct Listener {
  std::function<void(const History&)> on_step;
  std::function<void(const History&)> on_epoch;  ///< its figures are the last of History::epochs
};

/// Belongs to one thread. The results of a run depend on the archive, the data, the options and the number of threads
/// alone: not on when it was interrupted.
class Trainer {
 public:
  /// Opens the data and checks all options against model and data. Continues from a checkpoint with `resume`. All
  /// ranks make one, with the same options; rank 0 alone reads and writes checkpoints.
  Trainer(const Model& model, const Prepared& prepared, const TrainOptions& options, Settings settings,
          const Ranks& ranks);

  /// Until the end, or until `stop` gives a signal to any rank; then a checkpoint is written, and the result is that
  /// signal, else 0. Fails (runtime) where the loss is not finite any more.
  int run(const Listener& listener, const std::function<int()>& stop);

  const History& history() const { return history_; }
  const Session& session() const { return session_; }
  const Methods& methods() const { return methods_; }
  std::uint64_t steps() const { return steps_; }            ///< in all
  std::uint64_t steps_each() const { return steps_each_; }  ///< of an epoch
  std::uint64_t trained_samples() const { return division_.trained.size(); }
  std::uint64_t held_out_samples() const;
  std::uint64_t batch() const { return options_.batch; }  ///< samples of all ranks: the program's, where that is fixed
  const std::vector<std::string>& warnings() const { return warnings_; }
  /// A checkpoint of now, where there is none yet. Ranks do not talk about it: run() has ended.
  void save();
  const Ranks& ranks() const { return ranks_; }
  const Checkpoints& checkpoints() const { return checkpoints_; }

 private:
  /// The input that is no data; empty where there is none.
  std::string_view rate_input() const;
  void join();
  void divide();
  void restore();
  /// Samples that this rank takes at once, of a whole batch.
  std::uint64_t largest_share() const;
  void check_held_out() const;
  void add_settings(Settings settings);
  double step(const std::vector<std::uint64_t>& order, std::uint64_t* samples);
  double run_samples(std::span<const std::uint64_t> numbers);
  /// Not the smaller one that ends an epoch.
  bool is_full(std::size_t share) const;
  double run_step(std::span<const std::uint64_t> samples);
  double run_accumulated(std::span<const std::uint64_t> samples);
  void end_epoch(double seconds);
  void gather_offsets();
  void save_together();

  const Model& model_;
  TrainOptions options_;
  Ranks ranks_;
  Methods methods_;
  Data data_;
  std::unique_ptr<Data> held_out_data_;
  Session session_;
  MethodRun step_run_, accumulate_run_, apply_run_;
  Checkpoints checkpoints_;
  std::unique_ptr<HeldFolder> folder_;
  Settings settings_;
  Division division_;
  std::uint64_t steps_ = 0, steps_each_ = 0, batches_ = 0;
  Schedule schedule_;
  Tensor rate_;
  History history_;
  std::uint64_t saved_step_ = ~std::uint64_t{0};
  std::vector<std::uint64_t> random_offsets_;  ///< of all ranks, when they last told
  std::vector<std::string> warnings_;
};

}  // namespace tern::train
