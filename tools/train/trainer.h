// Trains a model: epochs, batches, steps, checkpoints.
#pragma once

#include <tern/tern.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/train/checkpoint.h"
#include "tools/train/data.h"
#include "tools/train/folder.h"
#include "tools/train/group_rates.h"
#include "tools/train/history.h"
#include "tools/train/method.h"
#include "tools/train/method_run.h"
#include "tools/train/options.h"
#include "tools/train/patience.h"
#include "tools/train/ranks.h"
#include "tools/train/schedule.h"
#include "tools/train/shuffle.h"

namespace tern::train {

/// Callbacks for displaying progress.
struct Listener {
  std::function<void(const History&)> on_step;
  std::function<void(const History&)> on_epoch;  ///< called with the new epoch at the end of History::epochs
};

/// The methods of one step.
struct StepRuns {
  MethodRun step, accumulate, apply;
};

/// Belongs to one thread. The results of a run depend only on the archive, the data, the options and the number of
/// threads, not on interruptions.
class Trainer {
 public:
  /// Opens the data and checks all options against model and data. Continues from a checkpoint with `resume`. All ranks
  /// create a Trainer with the same options; only rank 0 reads and writes checkpoints.
  Trainer(const Model& model, const PreparedModel& prepared, const TrainOptions& options, Settings settings,
          const Ranks& ranks);

  /// Runs until the end, or until `stop` returns a signal on any rank; then writes a checkpoint and returns the signal,
  /// else 0. Fails (runtime) if the loss is not finite any more.
  int run(const Listener& listener, const std::function<int()>& stop);

  const History& history() const { return history_; }
  const TrainOptions& options() const { return options_; }
  /// The archive's learning rate in a step, from 0.
  double rate(std::uint64_t step) const { return schedule_.rate(step); }
  /// The epoch whose states the run ends with, if patience ended it.
  std::optional<std::size_t> stopped_at() const {
    return patience_.is_over(history_) ? Patience::best_epoch(history_) : std::nullopt;
  }
  const Session& session() const { return session_; }
  const Methods& methods() const { return methods_; }
  std::uint64_t steps() const { return steps_; }            ///< total number
  std::uint64_t steps_each() const { return steps_each_; }  ///< per epoch
  std::uint64_t trained_samples() const { return division_.trained.size(); }
  std::uint64_t held_out_samples() const;
  std::uint64_t batch() const {
    return options_.batch;
  }  ///< samples of all ranks: fixed by the program or chosen by
     ///< the option
  const std::vector<std::string>& warnings() const { return warnings_; }
  /// Writes a checkpoint of the current step, if missing. The ranks do not communicate: run() has ended.
  void save();
  const Ranks& ranks() const { return ranks_; }
  const Checkpoints& checkpoints() const { return checkpoints_; }

 private:
  /// The input for the learning rate; empty if the method has none.
  std::string_view rate_input() const;
  void add_runs(const std::string& step);
  void join();
  void divide();
  void restore();
  /// This rank's number of samples of a full batch.
  std::uint64_t largest_share() const;
  void check_held_out() const;
  void add_settings(Settings settings);
  double step(const std::vector<std::uint64_t>& order, std::uint64_t* samples);
  double run_samples(std::span<const std::uint64_t> numbers);
  /// False for the smaller batch at the end of an epoch.
  bool is_full(std::size_t share) const;
  struct Batch {
    std::vector<Tensor> inputs;  ///< excludes the rate; valid until the next batch
    bool full = false;
  };
  Batch batch_of(std::span<const std::uint64_t> samples);
  /// Steps are numbered in the order of `step_runs_`.
  double run_step(std::size_t number, std::size_t loss_result, const Batch& batch);
  void check_loss(double loss, const std::string& step) const;
  double run_accumulated(std::size_t number, std::span<const std::uint64_t> samples);
  double take_steps(std::span<const std::uint64_t> samples);
  /// Records the norm of the first step's gradients.
  void note_norm(std::size_t number, const std::vector<Tensor>& results, std::size_t position);
  void end_epoch(double seconds);
  void gather_offsets();
  void save_together();

  const Model& model_;
  TrainOptions options_;
  Ranks ranks_;
  Methods methods_;
  TrainingData data_;
  std::unique_ptr<TrainingData> held_out_data_;
  Session session_;
  std::deque<StepRuns> step_runs_;  ///< Methods::step, then Methods::further in its order
  Checkpoints checkpoints_;
  std::unique_ptr<HeldFolder> folder_;
  Settings settings_;
  SampleSplit division_;
  std::uint64_t steps_ = 0, steps_each_ = 0, batches_ = 0;
  LearningRateSchedule schedule_;
  GroupRates group_rates_;
  Patience patience_;
  Tensor rate_;
  History history_;
  std::uint64_t saved_step_ = ~std::uint64_t{0};
  std::vector<std::uint64_t> random_offsets_;  ///< offsets of all ranks at the last exchange
  std::vector<std::string> warnings_;
};

}  // namespace tern::train
