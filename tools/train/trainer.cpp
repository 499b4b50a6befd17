#include "tools/train/trainer.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "dtypes/convert.h"
#include "exporter/training/methods.h"
#include "tools/text.h"
#include "tools/train/checkpoint_file.h"
#include "tools/train/checks.h"
#include "tools/train/metrics.h"

namespace tern::train {
namespace {

using Clock = std::chrono::steady_clock;

double number_of(const Tensor& t) {
  double value = 0;
  convert(t.data(), t.dtype(), &value, DType::f64, 1);
  return value;
}

/// The names of --array, after checking their inputs.
const ArrayNames& checked_names(const FunctionInfo& f, std::string_view without, const TrainOptions& options) {
  check_array_names(f, without, options.arrays);
  return options.arrays;
}

}  // namespace

Trainer::Trainer(const Model& model, const PreparedModel& prepared, const TrainOptions& options, Settings settings,
                 const Ranks& ranks)
    : model_(model),
      options_(options),
      ranks_(ranks),
      methods_(find_methods(model, options.method)),
      data_(methods_.step, rate_input(), options.data, options.cast,
            checked_names(methods_.step, rate_input(), options)),
      session_(prepared),
      checkpoints_(options.checkpoints.empty() ? options.output + ".checkpoints" : options.checkpoints) {
  add_runs(methods_.step.name);
  for (const FurtherStep& s : methods_.further) add_runs(s.function.name);
  history_.further_losses.resize(methods_.further.size());
  if (options_.accumulate > 1 && !methods_.accumulates)
    fail(ErrorCode::invalid_argument,
         "--accumulate: the archive has no methods accumulate and apply; export it with --train --accumulate");
  if (!options_.held_out_data.empty() && options_.held_out > 0)
    fail(ErrorCode::invalid_argument, "--held-out takes a share of the data or a file, not both");
  if ((options_.rate || options_.schedule != "constant" || options_.warmup > 0) && !methods_.takes_rate)
    fail(ErrorCode::invalid_argument, "--lr, --schedule and --warmup need a step function with an input 'lr'");
  if (options_.rate && !(*options_.rate >= 0 && std::isfinite(*options_.rate)))
    fail(ErrorCode::invalid_argument, fmt::format("--lr takes a finite number from 0, not {}", *options_.rate));
  if ((options_.rate || options_.schedule != "constant" || options_.warmup > 0) && methods_.optimizer == "rprop") {
    fail(ErrorCode::invalid_argument,
         "--lr, --schedule and --warmup: rprop has no rate; its first step sizes are --lr of 'tern export'");
  }
  if (data_.fixed_batch() > 0) options_.batch = static_cast<std::uint64_t>(data_.fixed_batch() * ranks_.size());
  join();
  divide();
  if (!options_.held_out_data.empty() && methods_.loss)
    held_out_data_ =
        std::make_unique<TrainingData>(*methods_.loss, "", options_.held_out_data, options_.cast, options_.arrays);
  if ((!options_.held_out_data.empty() || options_.held_out > 0) && !methods_.loss)
    fail(ErrorCode::invalid_argument, "--held-out: the archive has no method 'loss' whose first result is one float");
  check_held_out();
  if ((options_.patience > 0 || !options_.metrics.empty()) && held_out_samples() == 0)
    fail(ErrorCode::invalid_argument, "--patience and --metric need held-out samples: give --held-out SHARE|FILE");
  patience_ = Patience(options_.patience);
  Scores(options_.metrics, methods_.class_axis, methods_.loss_name);  // checks the names
  schedule_ = LearningRateSchedule(options_.schedule, options_.rate.value_or(methods_.rate), steps_, options_.warmup);
  group_rates_ = GroupRates(session_, model_, options_.groups, options_.schedule, options_.rate.value_or(methods_.rate),
                            steps_, options_.warmup);
  rate_ = Tensor(methods_.rate_type, std::vector<std::int64_t>(methods_.rate_axes, 1));
  session_.set_seed(ranks_.seed_of(options_.seed));
  add_settings(std::move(settings));
  ranks_.require_same(settings_);
  if (ranks_.leads()) folder_ = std::make_unique<HeldFolder>(checkpoints_.folder(), !options_.checkpoints.empty());
  if (options_.resume) {
    restore();
  } else if (ranks_.leads() && checkpoints_.has_checkpoint()) {
    fail(ErrorCode::invalid_argument, fmt::format("{} has the checkpoints of another run; continue it with --resume, "
                                                  "remove them, or give another folder with --checkpoint",
                                                  escape_name(checkpoints_.folder())));
  }
}

void Trainer::add_runs(const std::string& step) {
  const auto run_of = [&](std::string name) { return MethodRun(session_, std::move(name), options_.graph); };
  step_runs_.push_back({run_of(step), run_of(method_of(model_, training::kAccumulate, step)),
                        run_of(method_of(model_, training::kApply, step))});
}

/// Several ranks require a step function with collectives.
void Trainer::join() {
  if (ranks_.alone()) return;
  if (!methods_.communicates) {
    fail(ErrorCode::invalid_argument, fmt::format("--group: '{}' does not communicate, so each of the {} ranks would "
                                                  "train its own model; export it with --train --data-parallel",
                                                  escape_name(methods_.step.name), ranks_.size()));
  }
  if (!methods_.weighs && options_.batch % static_cast<std::uint64_t>(ranks_.size()) != 0) {
    fail(ErrorCode::invalid_argument,
         fmt::format("--batch {}: the {} ranks of this program take equal parts", options_.batch, ranks_.size()));
  }
  session_.set_group(ranks_.group());
}

/// Rank 0 reads the checkpoint and sends the data to the other ranks: they need no folder.
void Trainer::restore() {
  NamedTensors file;
  if (ranks_.leads()) {
    if (auto newest = checkpoints_.newest(model_, settings_, {steps_, batches_}, warnings_)) file = std::move(*newest);
  }
  ranks_.share_of_first(file);
  if (file.tensors.empty()) return;
  if (const std::size_t before = random_offsets_of(file).size(); before != static_cast<std::size_t>(ranks_.size()))
    warnings_.push_back(fmt::format(
        "the checkpoint is from {} rank{}, but {} continue: the losses differ in rounding and random numbers", before,
        before == 1 ? "" : "s", ranks_.size()));
  train::restore(file, model_, {steps_, batches_}, ranks_, session_, history_);
  patience_.restore(file, model_, history_);
  history_.further_losses.resize(methods_.further.size());
  for (std::vector<double>& losses : history_.further_losses)
    losses.resize(history_.losses.size(), std::numeric_limits<double>::quiet_NaN());
  saved_step_ = history_.position.step;
}

std::uint64_t Trainer::largest_share() const {
  const auto ranks = static_cast<std::uint64_t>(ranks_.size());
  return (options_.batch + ranks - 1) / ranks;
}

std::string_view Trainer::rate_input() const {
  return methods_.takes_rate ? training::kRate : std::string_view();
}

std::uint64_t Trainer::held_out_samples() const {
  if (!options_.held_out_data.empty()) return held_out_data_ ? held_out_data_->samples() : 1;
  return division_.held_out.size();
}

/// Divides samples into trained and held-out samples, and epochs into steps.
void Trainer::divide() {
  division_ = options_.held_out > 0 ? hold_out(data_.samples(), options_.held_out, options_.seed)
                                    : SampleSplit{ascending_numbers(data_.samples()), {}};
  const std::uint64_t count = division_.trained.size();
  const bool needs_full_batches = options_.drop_last || data_.fixed_batch() > 0 || !(ranks_.alone() || methods_.weighs);
  batches_ = needs_full_batches ? count / options_.batch : (count + options_.batch - 1) / options_.batch;
  steps_each_ = (batches_ + options_.accumulate - 1) / options_.accumulate;
  steps_ = steps_each_ * options_.epochs;
  if (options_.steps > 0) steps_ = std::min(steps_, options_.steps);
  const bool reaches_last = steps_ >= steps_each_;
  check_batches(methods_.step, rate_input(),
                {count, options_.batch, needs_full_batches || !reaches_last, "samples to train", ranks_.size()},
                data_.file());
}

void Trainer::check_held_out() const {
  if (options_.held_out_data.empty() && !(options_.held_out > 0)) return;
  const TrainingData& data = held_out_data_ ? *held_out_data_ : data_;
  check_batches(*methods_.loss, "", {held_out_samples(), largest_share(), data.fixed_batch() > 0, "held-out samples"},
                data.file());
}

/// Adds the settings affecting a run's results: checkpoints with other settings are refused.
void Trainer::add_settings(Settings settings) {
  settings_ = std::move(settings);
  const auto add = [&](const char* key, std::string value) { settings_.emplace_back(key, std::move(value)); };
  add("method", methods_.step.name);
  add("data", data_.description());
  add("contents of the data", data_.contents());
  add("epochs", fmt::format("{}", options_.epochs));
  add("steps", fmt::format("{}", steps_));
  add("batch", fmt::format("{}", options_.batch));
  add("ranks", fmt::format("{}", ranks_.size()));
  add("accumulate", fmt::format("{}", options_.accumulate));
  add("shuffle", fmt::format("{}", options_.shuffle));
  add("drop last", fmt::format("{}", options_.drop_last));
  add("seed", fmt::format("{}", options_.seed));
  std::string held_out = options_.held_out_data.empty() ? fmt::format("{}", options_.held_out) : options_.held_out_name;
  if (options_.patience > 0) held_out += fmt::format("; patience {}", options_.patience);
  for (const std::string& metric : options_.metrics) held_out += "; metric " + metric;
  add("held out", held_out);
  if (held_out_data_) add("contents of the held-out data", held_out_data_->contents());
  add("lr", rates_text(fmt::format("{}", options_.rate.value_or(methods_.rate)), options_.groups, &GroupRate::rate));
  add("schedule", rates_text(options_.schedule, options_.groups, &GroupRate::schedule));
  add("warm-up", fmt::format("{}", options_.warmup));
}

bool Trainer::is_full(std::size_t share) const {
  return share == ranks_.share_size(std::min<std::uint64_t>(options_.batch, division_.trained.size()));
}

void Trainer::check_loss(double loss, const std::string& step) const {
  if (std::isfinite(loss)) return;
  fail(ErrorCode::runtime,
       fmt::format("the loss of {}step {} is {}: training diverged. A smaller --lr, --warmup, or "
                   "'tern export --train --clip-norm' may help",
                   step, history_.losses.size() + (step.empty() ? 0 : 1), std::isnan(loss) ? "NaN" : "infinite"));
}

Trainer::Batch Trainer::batch_of(std::span<const std::uint64_t> samples) {
  const std::vector<std::uint64_t> share = ranks_.share(samples);
  return {data_.batch(share), is_full(share.size())};
}

void Trainer::note_norm(std::size_t number, const std::vector<Tensor>& results, std::size_t position) {
  if (number == 0 && methods_.norm_result && position < results.size())
    history_.gradient_norms.push_back(number_of(results.at(position)));
}

double Trainer::run_step(std::size_t number, std::size_t loss_result, const Batch& batch) {
  std::vector<Tensor> inputs = batch.inputs;
  if (methods_.takes_rate) inputs.push_back(rate_);
  const std::vector<Tensor>& results = step_runs_[number].step(inputs, batch.full);
  note_norm(number, results, methods_.norm_result.value_or(0));
  return number_of(results.at(loss_result));
}

/// A step over several batches with their mean gradient; returns their mean loss.
double Trainer::run_accumulated(std::size_t number, std::span<const std::uint64_t> samples) {
  StepRuns& runs = step_runs_[number];
  double sum = 0, batches = 0;
  while (!samples.empty()) {
    const auto now = samples.first(std::min<std::size_t>(options_.batch, samples.size()));
    samples = samples.subspan(now.size());
    const Batch batch = batch_of(now);
    sum += number_of(runs.accumulate(batch.inputs, batch.full).at(0));
    ++batches;
  }
  const std::vector<Tensor>& results = runs.apply(std::span(&rate_, 1), true);
  note_norm(number, results, 0);
  return sum / batches;
}

/// Takes all steps of a turn, one after the other, with the same samples; returns the first one's loss.
double Trainer::take_steps(std::span<const std::uint64_t> samples) {
  const bool accumulates = options_.accumulate > 1;
  const Batch batch = accumulates ? Batch{} : batch_of(samples);
  const auto take = [&](std::size_t number, std::size_t loss_result) {
    return accumulates ? run_accumulated(number, samples) : run_step(number, loss_result, batch);
  };
  const double first_loss = take(0, methods_.loss_result);
  for (std::size_t i = 0; i < methods_.further.size(); ++i) {
    const FurtherStep& further = methods_.further[i];
    const bool taken = (history_.position.step + 1) % further.every == 0;
    const double loss = taken ? take(i + 1, further.loss_result) : std::numeric_limits<double>::quiet_NaN();
    history_.further_losses[i].push_back(loss);
    if (taken) check_loss(loss, fmt::format("'{}' in ", escape_name(further.function.name)));
  }
  return first_loss;
}

double Trainer::step(const std::vector<std::uint64_t>& order, std::uint64_t* samples) {
  const double rate = schedule_.rate(history_.position.step);
  convert(&rate, DType::f64, rate_.data(), rate_.dtype(), 1);
  group_rates_.set(session_, history_.position.step, rate);
  const std::uint64_t last_batch = std::min(history_.position.batch + options_.accumulate, batches_);
  const std::uint64_t first = history_.position.batch * options_.batch;
  const std::uint64_t last = std::min<std::uint64_t>(last_batch * options_.batch, order.size());
  const std::span<const std::uint64_t> numbers = std::span(order).subspan(first, last - first);
  *samples = numbers.size();
  history_.position.batch = last_batch;
  return run_samples(numbers);
}

/// Adds the samples to an error message: their values are a frequent cause, for example class numbers out of range.
double Trainer::run_samples(std::span<const std::uint64_t> numbers) {
  try {
    return take_steps(numbers);
  } catch (const Error& e) {
    if (e.code() != ErrorCode::runtime) throw;
    fail(e.code(), fmt::format("step {}, {}: {}", history_.position.step + 1, data_.samples_text(ranks_.share(numbers)),
                               e.what()));
  }
}

void Trainer::save() {
  if (saved_step_ == history_.position.step || !ranks_.leads()) return;
  // A useless checkpoint must not replace earlier checkpoints.
  check_parameters(model_, session_, history_.position.step);
  checkpoints_.save(model_, session_, history_, settings_, random_offsets_, patience_);
  saved_step_ = history_.position.step;
}

void Trainer::gather_offsets() {
  const std::uint64_t mine[] = {session_.random_position().offset};
  random_offsets_ = ranks_.gather(mine);
}

void Trainer::save_together() {
  gather_offsets();
  save();
}

void Trainer::end_epoch(double seconds) {
  EpochFigures e;
  e.loss = history_.loss_sum / static_cast<double>(history_.samples);
  e.rate = schedule_.rate(history_.position.step - 1);
  e.seconds = seconds;
  if (held_out_samples() > 0) {
    // Random numbers of an evaluation must not change the random numbers of training.
    const RandomPosition random = session_.random_position();
    const std::vector<std::uint64_t> all =
        held_out_data_ ? ascending_numbers(held_out_data_->samples()) : division_.held_out;
    const Metrics m = evaluate(session_, methods_, held_out_data_ ? *held_out_data_ : data_, all, largest_share(),
                               ranks_, Scores(options_.metrics, methods_.class_axis, methods_.loss_name));
    session_.set_random_position(random);
    e.held_out_loss = m.loss;
    e.held_out_accuracy = m.accuracy;
    e.metrics = m.scores;
  }
  history_.epochs.push_back(e);
  patience_.see(model_, session_, history_);
  history_.position.batch = 0;
  ++history_.position.epoch;
  history_.loss_sum = 0;
  history_.samples = 0;
}

int Trainer::run(const Listener& listener, const std::function<int()>& stop) {
  Position& at = history_.position;
  CommonStop common_stop(ranks_, at.step);
  while (at.step < steps_ && !patience_.is_over(history_)) {
    const std::vector<std::uint64_t> places = options_.shuffle
                                                  ? shuffled(division_.trained.size(), options_.seed, at.epoch)
                                                  : ascending_numbers(division_.trained.size());
    std::vector<std::uint64_t> order;
    order.reserve(places.size());
    for (std::uint64_t p : places) order.push_back(division_.trained[p]);
    const auto start = Clock::now();
    const std::uint64_t epoch = at.epoch;
    while (at.epoch == epoch && at.step < steps_) {
      std::uint64_t samples = 0;
      const double loss = step(order, &samples);
      ++at.step;
      history_.losses.push_back(loss);
      history_.loss_sum += loss * static_cast<double>(samples);
      history_.samples += samples;
      if (listener.on_step) listener.on_step(history_);
      check_loss(loss, "");
      if (at.batch >= batches_ || at.step == steps_) {
        end_epoch(std::chrono::duration<double>(Clock::now() - start).count());
        if (listener.on_epoch) listener.on_epoch(history_);
        if (!options_.checkpoints.empty() && options_.every == 0) save_together();
      }
      if (!options_.checkpoints.empty() && options_.every > 0 && at.step % options_.every == 0) save_together();
      if (const int signal = common_stop(stop(), at.step); signal != 0 && at.step < steps_) {
        save_together();
        return signal;
      }
    }
  }
  patience_.go_back(session_);
  group_rates_.reset(session_);
  check_parameters(model_, session_, at.step);
  gather_offsets();
  if (!options_.checkpoints.empty()) save();
  return 0;
}

}  // namespace tern::train
