// tern train: trains an archive on arrays of samples.
#include <fmt/format.h>
#include <tern/error.h>
#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>

#include "exporter/pt2/container.h"
#include "exporter/training/methods.h"
#include "loader/atomic_file.h"
#include "loader/file_bytes.h"
#include "platform/signals.h"
#include "threads/threads.h"
#include "tools/command.h"
#include "tools/files/any.h"
#include "tools/groups.h"
#include "tools/inputs.h"
#include "tools/terminal.h"
#include "tools/trace/options.h"
#include "tools/train/adapters.h"
#include "tools/train/checks.h"
#include "tools/train/curve.h"
#include "tools/train/event_file.h"
#include "tools/train/report.h"
#include "tools/train/trained_archive.h"
#include "tools/train/trainer.h"

namespace tern {
namespace {

using namespace train;

constexpr std::size_t kCurveRows = 12;

struct TrainCommandArguments {
  TrainOptions options;
  std::string held_out;  ///< a share or a file
  std::vector<std::string> arrays;
  std::vector<std::string> rates, schedules;  ///< "1e-3", or "SELECTOR: 1e-4" for a parameter group
  DeviceChoice device;
  TraceChoice trace;
  int threads = 0;
  std::string group;
  double group_timeout = 600;
};

void parse_held_out(TrainCommandArguments& a) {
  if (a.held_out.empty()) return;
  const char* end = a.held_out.data() + a.held_out.size();
  const auto [stop, error] = std::from_chars(a.held_out.data(), end, a.options.held_out);
  if (error == std::errc() && stop == end) {
    if (!(a.options.held_out > 0 && a.options.held_out < 1))
      fail(ErrorCode::invalid_argument, "--held-out takes a share between 0 and 1, or a file");
    return;
  }
  a.options.held_out = 0;
  a.options.held_out_data = a.options.held_out_name = a.held_out;
}

void parse_arrays(TrainCommandArguments& a) {
  for (const std::string& text : a.arrays) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      fail(ErrorCode::invalid_argument, fmt::format("--array takes INPUT=NAME, not '{}'", escape_name(text)));
    a.options.arrays[text.substr(0, equals)] = text.substr(equals + 1);
  }
}

/// Sorts --lr and --schedule into those of the archive and those of parameter groups.
void parse_rates(TrainCommandArguments& a) {
  for (const std::string& text : a.rates) {
    auto [selector, value] = split_selector(text);
    if (!selector.empty()) {
      a.options.groups[selector].rate = value;
      continue;
    }
    double rate = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), rate);
    if (error != std::errc() || end != value.data() + value.size())
      fail(
          ErrorCode::invalid_argument,
          fmt::format("--lr takes a number, or 'SELECTOR: NUMBER' for a parameter group, not '{}'", escape_name(text)));
    a.options.rate = rate;
  }
  for (const std::string& text : a.schedules) {
    auto [selector, value] = split_selector(text);
    (selector.empty() ? a.options.schedule : a.options.groups[selector].schedule) = value;
  }
}

PrepareOptions prepare_options(const TrainCommandArguments& a) {
  PrepareOptions options;
  options.threads = a.threads;
  options.device = a.device.name;
  options.reproducible = a.device.reproducible;
  options.native_code = a.device.native_code;
  // No weight cache: packed weights found by a later process could change the results.
  options.weight_cache = "off";
  return options;
}

/// Settings of the run stored in a checkpoint beside the options of training.
Settings settings_of(const TrainCommandArguments& a) {
  const auto file = FileBytes::open(a.options.model, Access::map);
  const XXH128_hash_t h = XXH3_128bits(file->bytes().data(), file->bytes().size());
  return {{"archive", fmt::format("{:016x}{:016x}", h.high64, h.low64)},
          {"device", a.device.name},
          {"reproducible", fmt::format("{}", a.device.reproducible)},
          {"threads", fmt::format("{}", Threads::chosen(a.threads).count())}};
}

void write_plot(const std::string& path, const Trainer& trainer, const std::string& title) {
  AtomicFile file(path);
  file.write(curve_svg(curve_of(trainer.history(), trainer.steps_each()), title));
  file.commit();
}

void print_start(const TrainCommandArguments& a, const Trainer& t) {
  for (const std::string& w : t.warnings()) fmt::print(stderr, "tern: {}\n", w);
  if (a.options.json) return;
  const std::uint64_t held_out_count = t.held_out_samples();
  fmt::print("{}: {} samples{}, {} steps an epoch{}{}\n", escape_name(a.options.data), t.trained_samples(),
             held_out_count > 0 ? fmt::format(" and {} held out", held_out_count) : "", t.steps_each(),
             t.ranks().alone() ? "" : fmt::format(", {} ranks", t.ranks().size()),
             t.history().position.step > 0 ? fmt::format("; continues after step {}", t.history().position.step) : "");
}

void write_results(const TrainCommandArguments& a, const Model& model, const Trainer& trainer) {
  write_trained(model, trainer.session(), a.options.output);
  if (!a.options.forward.empty()) write_forward(model, trainer.session(), a.options.forward);
  if (!a.options.adapters.empty()) write_adapters(model, trainer.session(), a.options.adapters);
  if (!a.options.plot.empty()) write_plot(a.options.plot, trainer, a.options.model);
}

/// Text explaining the continuation of a stopped run.
std::string continue_text(const TrainCommandArguments& a, const Trainer& trainer) {
  const std::string folder = escape_name(trainer.checkpoints().folder());
  return fmt::format("a checkpoint is in {}; continue with --resume{}", folder,
                     a.options.checkpoints.empty() ? "" : " --checkpoint " + folder);
}

/// Keeps hours of training if the disk is full.
void write_or_keep(const TrainCommandArguments& a, const Model& model, Trainer& trainer) {
  try {
    write_results(a, model, trainer);
  } catch (...) {
    try {
      trainer.save();
      fmt::print(stderr, "tern: cannot write the results; {}\n", continue_text(a, trainer));
    } catch (const std::exception& e) {
      fmt::print(stderr, "tern: and there is no checkpoint: {}\n", e.what());
    }
    throw;
  }
  // Removes the default folder: the user did not ask for checkpoints.
  if (a.options.checkpoints.empty()) trainer.checkpoints().remove();
}

void check_forward(const TrainOptions& o, const Model& model) {
  if (!o.forward.empty() &&
      std::ranges::find(model.functions(), training::kForward, &FunctionInfo::name) == model.functions().end()) {
    fail(ErrorCode::invalid_argument, fmt::format("--forward: the archive has no method '{}'", training::kForward));
  }
}

void check_adapters(const TrainOptions& o, const Model& model) {
  if (!o.adapters.empty() && adapters_of(*model.program()).empty()) {
    fail(ErrorCode::invalid_argument,
         "--adapters: the archive has no low-rank adapters; 'tern export --train --lora PATTERN' adds them");
  }
}

/// Warns of batch norms updated beside adapters: a file of adapters cannot store buffers.
void warn_of_buffers(const TrainOptions& o, const Model& model) {
  if (o.adapters.empty()) return;
  const auto& states = model.program()->states;
  const auto is_changed_buffer = [](const State& s) {
    return s.is_mutable && s.persistent && s.kind == State::Kind::buffer;
  };
  const auto found = std::ranges::find_if(states, is_changed_buffer);
  if (found == states.end()) return;
  fmt::print(stderr,
             "tern: --adapters: training also changes {} buffers, such as {}; the file holds adapters alone, so use -o "
             "or --forward, or export the model in eval() mode\n",
             std::ranges::count_if(states, is_changed_buffer), escape_name(found->name));
}

/// A progress bar, and a line for each epoch.
class Display {
 public:
  Display(const TrainCommandArguments& a, const Trainer& trainer) : a_(a), trainer_(trainer) { begin(); }

  Listener listener() {
    Listener l;
    l.on_step = [this](const History& h) {
      progress_->note(fmt::format("loss {:.4g}", h.losses.back()));
      progress_->set(h.position.step);
    };
    l.on_epoch = [this](const History& h) {
      if (a_.options.json) return;
      progress_->finish();
      fmt::print("{}", epoch_text(h, a_.options.epochs, trainer_));
      std::fflush(stdout);
      begin();
    };
    return l;
  }

 private:
  void begin() { progress_.emplace("training", trainer_.steps()); }

  const TrainCommandArguments& a_;
  const Trainer& trainer_;
  std::optional<Progress> progress_;
};

/// Scalars of steps and epochs in an event file of TensorBoard. Tags: loss/train, loss/held_out, lr, gradient_norm,
/// metrics/NAME, loss/STEP of further steps.
class EventLog {
 public:
  EventLog(const std::string& folder, const Trainer& trainer)
      : file_(folder, trainer.history().position.step), trainer_(trainer) {}

  void on_step(const History& h) {
    std::vector<EventFile::Scalar> scalars = {{"loss/train", h.losses.back()},
                                              {"lr", trainer_.rate(h.position.step - 1)}};
    if (!h.gradient_norms.empty()) scalars.emplace_back("gradient_norm", h.gradient_norms.back());
    std::vector<std::string> tags;
    for (const FurtherStep& s : trainer_.methods().further) tags.push_back("loss/" + s.function.name);
    for (std::size_t i = 0; i < tags.size(); ++i) {
      if (!std::isnan(h.further_losses[i].back())) scalars.emplace_back(tags[i], h.further_losses[i].back());
    }
    file_.add(h.position.step, scalars);
  }
  void on_epoch(const History& h) {
    const EpochFigures& e = h.epochs.back();
    std::vector<EventFile::Scalar> scalars;
    std::vector<std::string> tags;
    for (const std::string& name : trainer_.options().metrics) tags.push_back("metrics/" + name);
    if (e.held_out_loss) scalars.emplace_back("loss/held_out", *e.held_out_loss);
    if (e.held_out_accuracy) scalars.emplace_back("metrics/accuracy", *e.held_out_accuracy);
    for (std::size_t i = 0; i < e.metrics.size(); ++i) scalars.emplace_back(tags.at(i), e.metrics[i]);
    if (!scalars.empty()) file_.add(h.position.step, scalars);
    file_.flush();
  }
  void flush() { file_.flush(); }

 private:
  EventFile file_;
  const Trainer& trainer_;
};

/// Adds the event log to a listener.
Listener add_event_log(Listener listener, EventLog& log) {
  return {[listener, &log](const History& h) {
            if (listener.on_step) listener.on_step(h);
            log.on_step(h);
          },
          [listener, &log](const History& h) {
            if (listener.on_epoch) listener.on_epoch(h);
            log.on_epoch(h);
          }};
}

/// Rank 0's final output.
void finish(const TrainCommandArguments& a, const Model& model, Trainer& trainer) {
  write_or_keep(a, model, trainer);
  if (a.options.json) {
    fmt::print("{}", report_json(a.options, trainer, true));
    return;
  }
  if (is_terminal(1))
    fmt::print("{}", curve_text(curve_of(trainer.history(), trainer.steps_each()), terminal_columns(1), kCurveRows));
  if (const auto best_epoch = trainer.stopped_at()) {
    fmt::print("stopped after epoch {}: the held-out loss was smallest in epoch {}, whose states the archive has\n",
               trainer.history().epochs.size(), *best_epoch + 1);
  }
  fmt::print("{}: trained for {} steps\n", escape_name(a.options.output), trainer.history().position.step);
}

int train_archive(TrainCommandArguments& a, const Ranks& ranks) {
  ChosenTrace trace(a.trace);
  const Model model = Model::open(a.options.model);
  check_forward(a.options, model);
  check_adapters(a.options, model);
  const PreparedModel prepared = model.prepare(prepare_options(a));
  Trainer trainer(model, prepared, a.options, settings_of(a), ranks);
  if (ranks.leads()) {
    print_start(a, trainer);
    warn_of_buffers(a.options, model);
  }
  platform::Interrupt interrupt;
  std::optional<Display> display;
  if (ranks.leads()) display.emplace(a, trainer);
  Listener listener = display ? display->listener() : Listener{};
  std::optional<EventLog> events;
  if (ranks.leads() && !a.options.tensorboard.empty()) {
    events.emplace(a.options.tensorboard, trainer);
    listener = add_event_log(listener, *events);
  }
  const int signal = trainer.run(listener, [&] { return static_cast<int>(interrupt.received_signal()); });
  if (events) events->flush();
  display.reset();
  trace.finish();
  if (signal != 0) {
    if (ranks.leads()) {
      if (a.options.json) fmt::print("{}", report_json(a.options, trainer, false));
      fmt::print(stderr, "tern: stopped after step {} of {}; {}\n", trainer.history().position.step, trainer.steps(),
                 continue_text(a, trainer));
    }
    return signal == SIGTERM ? kExitTerminated : kExitInterrupted;
  }
  if (ranks.leads()) finish(a, model, trainer);
  return 0;
}

int run_train(TrainCommandArguments& a) {
  check_program_file(a.options.model);
  if (a.options.every > 0 && a.options.checkpoints.empty())
    fail(ErrorCode::invalid_argument, "--every needs --checkpoint FOLDER");
  parse_held_out(a);
  parse_arrays(a);
  parse_rates(a);
  // All ranks meet before loading: a missing rank is detected first.
  const Ranks ranks = a.group.empty() ? Ranks() : Ranks(join_launched_group(a.group, a.group_timeout));
  try {
    if (!ranks.leads() && a.trace.path.find("{rank}") == std::string::npos) a.trace.path.clear();
    for (std::string* name : {&a.options.model, &a.options.data, &a.options.held_out_data, &a.trace.path})
      put_rank(*name, ranks.rank());
    if (!a.group.empty()) put_local_rank(a.device.name);
    check_names(a.options, a.trace.path);
    if (ranks.leads()) check_outputs(a.options);
    if (is_pt2(a.options.model)) {
      pt2::Container::open(a.options.model);  // throws a clearer error for other kinds of zip archives
      fail(ErrorCode::invalid_argument,
           "tern train takes an archive: 'tern export MODEL.pt2 --train --loss LOSS -o MODEL.tern' makes it");
    }
    return train_archive(a, ranks);
  } catch (const std::exception& e) {
    // Other ranks must not wait for this rank.
    if (!ranks.alone()) ranks.group()->abort(e.what());
    throw;
  }
}

}  // namespace

void add_train_command(Command app, CommandLine& line) {
  auto a = std::make_shared<TrainCommandArguments>();
  TrainOptions& o = a->options;
  const Command c = app.add_subcommand("train", "Train an archive that 'tern export --train' made");
  c.add_option("model", o.model, "The archive").required();
  c.add_option("--data", o.data,
               "A .npz (numpy.savez) or .safetensors file with an array for each input, named as the input, and one "
               "named target; the first size counts samples. The file is mapped, not read")
      .required()
      .type_name("FILE");
  c.add_option("--array", a->arrays, "The array for an input, if it has another name: target=labels. May be repeated")
      .type_name("INPUT=NAME");
  c.add_option("-o,--output", o.output, "The trained archive, which can be trained further")
      .required()
      .type_name("FILE");
  c.add_option("--forward", o.forward,
               "Also write an archive of only the method forward, with constant weights, for 'tern run'")
      .type_name("FILE");
  c.add_option("--adapters", o.adapters,
               "Also write only the low-rank adapters of 'tern export --train --lora', with PEFT's names; --forward "
               "merges them into the weights")
      .type_name("FILE.safetensors");
  require_range(
      c.add_option("--epochs", o.epochs, "Number of epochs: how often training uses each sample").capture_default_str(),
      bounds::kRunCount);
  require_range(c.add_option("--steps", o.steps, "Stop after this many steps"), bounds::kRunCount);
  require_range(
      c.add_option("--batch", o.batch,
                   "Samples of a step, of all ranks together; the program's, if it was exported with a fixed size")
          .capture_default_str(),
      bounds::kEvery);
  require_range(c.add_option("--accumulate", o.accumulate,
                             "Batches of a step, which uses the mean of their gradients (tern export --accumulate)"),
                bounds::kEvery);
  c.add_option("--held-out", a->held_out,
               "Measure loss and accuracy after each epoch on this share of the samples, which training leaves out, "
               "or on another file")
      .type_name("SHARE|FILE");
  c.add_option("--metric", o.metrics,
               "Another figure of held-out samples: f1, iou, auc (losses over classes; auc of bce_with_logits too), "
               "perplexity, mae, rmse, r2 (losses over numbers). May be repeated")
      .type_name("NAME");
  require_range(
      c.add_option("--patience", o.patience,
                   "Stop after this many epochs without a smaller held-out loss, and write the states of the best "
                   "epoch"),
      bounds::kRunCount);
  c.add_option("--lr", a->rates,
               "Learning rate (default: the one that export was given); 'lm_head: 1e-4' or 'lm_head: 0.1x' for a group "
               "of --params with a rate. May be repeated")
      .type_name("[SELECTOR: ]RATE");
  c.add_option("--schedule", a->schedules,
               "Schedule of the learning rate: constant, linear[:END], cosine[:END], step:EVERY[:FACTOR] (default: "
               "constant). END is the last factor, FACTOR is applied every EVERY steps. 'lm_head: linear' is that of a "
               "group of --params with a rate. May be repeated")
      .type_name("[SELECTOR: ]SCHEDULE");
  require_range(c.add_option("--warmup", o.warmup,
                             "Steps in which the learning rate rises to its full value, before the schedule"),
                bounds::kRunCount);
  require_range(c.add_option("--seed", o.seed, "Seed of the order of samples, of the held-out share, and of dropout")
                    .capture_default_str(),
                bounds::kSeed);
  c.add_flag("!--no-shuffle", o.shuffle, "Take the samples in the order of the file");
  c.add_flag("--drop-last", o.drop_last, "Leave out an incomplete batch at the end of an epoch");
  c.add_flag("--cast", o.cast, "Convert arrays of another element type, even if values are rounded");
  c.add_option("--method", o.method, "The step function of an archive that has no train_step").type_name("NAME");
  c.add_option("--checkpoint", o.checkpoints, "Write checkpoints to this folder; the last two are kept")
      .type_name("FOLDER");
  require_range(c.add_option("--every", o.every, "Steps between checkpoints (default: one at the end of each epoch)"),
                bounds::kRunCount);
  c.add_flag("--resume", o.resume,
             "Continue from the newest checkpoint, with the same results as without the interruption; begin if there "
             "is none");
  c.add_flag("--graph", o.graph,
             "Capture a step as a graph and replay it: fewer launches on devices that have graphs. Results keep their "
             "bits");
  c.add_option(
       "--tensorboard", o.tensorboard,
       "Write losses, rates, gradient norms and metrics to an event file in this folder, which TensorBoard shows")
      .type_name("FOLDER");
  c.add_option("--plot", o.plot, "Draw the loss of each step").type_name("FILE.svg");
  add_threads_option(c, a->threads);
  add_device_options(c, a->device);
  add_trace_options(c, a->trace);
  add_group_options(c, a->group, a->group_timeout);
  c.add_flag("--json", o.json, "Print all losses and figures as JSON");
  c.footer(
      "Examples:\n  tern export model.pt2 --train --loss cross_entropy --optimizer adamw --lr 1e-3\n"
      "  tern train model.tern --data digits.npz --epochs 20 --held-out 0.2 -o trained.tern\n"
      "  tern train model.tern --data d.safetensors --schedule cosine --warmup 100 --checkpoint ckpt --every 500 "
      "--resume -o trained.tern\n"
      "  torchrun --no-python --nproc-per-node 2 tern train parallel.tern --data d.npz --group gloo -o trained.tern\n\n"
      "On a terminal a progress bar and, at the end, the curve of the loss are drawn; each epoch prints one line. "
      "Ctrl-C ends the run after the step at hand, with a checkpoint in --checkpoint or OUTPUT.checkpoints; the "
      "latter is removed once the archive is written. A run that is resumed on the same device with the same number of "
      "threads gives the same bits. docs/training.md is a "
      "tutorial.\n\n"
      "With --group, ranks share each batch of an archive that 'tern export --train --data-parallel' made: rank r of P "
      "takes its samples r, r + P, r + 2 P ... Rank 0 prints, and writes all files; {rank} in the names of archive, "
      "data and trace is the number of the rank, {local_rank} in that of a device its number on its host; without "
      "{rank}, "
      "the trace is rank 0's.\n\n"
      "Exit status: 130 if Ctrl-C ended the run, 143 if SIGTERM did, 6 if the loss is not finite any more.");
  c.callback([a, &line] { line.status = run_train(*a); });
}

}  // namespace tern
