#include "exporter/tune/tune.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "exporter/tune/verdict.h"
#include "exporter/tune/workload.h"
#include "kernels/cpu/processor.h"
#include "threads/threads.h"

namespace tern {
namespace {

using Clock = std::chrono::steady_clock;
using NodeLocation = std::pair<std::uint32_t, std::uint32_t>;  // function, node

constexpr int kWarmUp = 2;
constexpr std::size_t kFewestTurns = 7, kMostTurns = 25;
constexpr double kSecondsOfTurns = 0.5;  // limit for one trial, unless the fewest turns take longer
constexpr double kSecondsAtTheEnd = 3;
constexpr double kWorthATrial = 0.005;  // fraction of a run

/// Nodes that are done alike.
struct TuneKind {
  std::string description;
  std::span<const AlgorithmChoice> algorithms;
  AlgorithmChoice rule, best_choice;  ///< the rules' choice, and the best so far
  std::vector<NodeLocation> locations;
  NodeNames neighbourhood;  ///< the nodes, and their affected neighbours
  double seconds = 0;       ///< seconds per run
};

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Tuner {
 public:
  Tuner(const Model& model, const TuneOptions& options)
      : model_(model), options_(options), workload_(make_workload(model, options.sizes)) {}

  TuneReport run() {
    report_.left_out = workload_.left_out;
    report_.tuning.processor = cpu::processor();
    report_.tuning.threads = static_cast<std::uint32_t>(Threads::current().count());
    if (workload_.calls.empty()) return std::move(report_);
    Trial rules(model_, {});
    for (int i = 0; i <= kWarmUp; ++i) rules.run(workload_, {});
    find_kinds(rules);
    best_trial_ = &rules;
    for (TuneKind& kind : kinds_) {
      for (const AlgorithmChoice a : kind.algorithms) try_algorithm(kind, a);
    }
    finish(rules);
    return std::move(report_);
  }

 private:
  void find_kinds(const Trial& rules) {
    const auto times = rules.node_times();
    double total_seconds = 0;
    for (const auto& [node, seconds] : times) total_seconds += seconds;
    std::map<std::string, TuneKind> kinds;
    for (const auto& [position, step] : rules.steps()) {
      TuneKind& kind = kinds[step.kind + std::string(name_of(step.chosen))];
      kind.description = step.description;
      kind.algorithms = step.algorithms;
      kind.rule = kind.best_choice = step.chosen;
      kind.locations.push_back(position);
      const auto found = times.find({model_.program()->functions[position.first].name, position.second});
      if (found != times.end()) kind.seconds += found->second;
    }
    for (auto& [text, kind] : kinds) {
      if (kind.seconds < kWorthATrial * total_seconds) continue;
      kind.neighbourhood = rules.nodes_with_neighbours(kind.locations);
      kinds_.push_back(std::move(kind));
    }
    std::ranges::stable_sort(kinds_, std::greater<>(), &TuneKind::seconds);
  }

  /// All that was found, and one kind done otherwise.
  Tuning tuning_with(const TuneKind* changed_kind, AlgorithmChoice choice) const {
    Tuning tuning = report_.tuning;
    for (const TuneKind& kind : kinds_) {
      const AlgorithmChoice chosen = &kind == changed_kind ? choice : kind.best_choice;
      if (chosen == kind.rule) continue;
      for (const auto& [function, node] : kind.locations)
        tuning.choices.push_back({function, node, std::string(name_of(chosen))});
    }
    std::ranges::sort(tuning.choices, {}, [](const Tuning::Choice& c) { return std::pair(c.function, c.node); });
    return tuning;
  }

  void try_algorithm(TuneKind& kind, AlgorithmChoice choice) {
    // oneDNN's threads wait busily for each other while Tern's have work: it made every program slower that was tried,
    // and what runs after it, so that nothing could be compared with it in turns.
    if (choice == kind.rule || choice == kind.best_choice || choice == Algorithm::onednn) return;
    if (since(start_) >= options_.seconds) {
      report_.complete = false;
      return;
    }
    if (options_.on_progress) {
      options_.on_progress(since(start_) / options_.seconds,
                           fmt::format("{} x {}: {}", kind.locations.size(), kind.description, name_of(choice)));
    }
    auto trial = std::make_unique<Trial>(model_, tuning_with(&kind, choice));
    trial->run(workload_, {});
    const auto is_chosen = [&](const NodeLocation& p) { return trial->steps().at(p).chosen == choice; };
    if (!std::ranges::all_of(kind.locations, is_chosen)) return;
    ++report_.trials;
    const PairedRuns paired_runs = take_turns(*best_trial_, *trial, kind.neighbourhood);
    if (!is_better(paired_runs)) return;
    kind.best_choice = choice;
    found_ = std::move(trial);
    best_trial_ = found_.get();
  }

  /// The two programs take turns in going first.
  PairedRuns take_turns(Trial& old_trial, Trial& new_trial, const NodeNames& nodes, double seconds = kSecondsOfTurns) {
    for (int i = 1; i < kWarmUp; ++i) new_trial.run(workload_, {});
    PairedRuns paired_runs;
    const auto run = [&](Trial& trial, PairedRuns::RunSeconds& seconds_out) {
      const Trial::Time time = trial.run(workload_, nodes);
      seconds_out.function.push_back(time.function);
      seconds_out.nodes.push_back(time.nodes);
    };
    const auto begin = Clock::now();
    for (std::size_t i = 0; i < kMostTurns && (i < kFewestTurns || since(begin) < seconds); ++i) {
      if (i % 2 == 0) run(old_trial, paired_runs.original);
      run(new_trial, paired_runs.changed);
      if (i % 2 == 1) run(old_trial, paired_runs.original);
      if (is_hopeless(paired_runs)) break;
    }
    return paired_runs;
  }

  /// Compares all changes together with the rules: single gains may have been luck.
  void finish(Trial& rules) {
    NodeNames changed_nodes;
    for (const TuneKind& kind : kinds_) {
      if (kind.best_choice != kind.rule) changed_nodes.insert(kind.neighbourhood.begin(), kind.neighbourhood.end());
    }
    const PairedRuns paired_runs = take_turns(rules, *best_trial_, changed_nodes, kSecondsAtTheEnd);
    report_.seconds_before = report_.seconds_after = median(paired_runs.original.function);
    if (changed_nodes.empty() || !is_better(paired_runs)) return;
    report_.seconds_after = median(paired_runs.changed.function);
    report_.tuning = tuning_with(nullptr, {});
    for (const TuneKind& kind : kinds_) {
      if (kind.best_choice != kind.rule)
        report_.kinds.push_back({kind.description, kind.locations.size(), kind.rule, kind.best_choice});
    }
  }

  const Model& model_;
  const TuneOptions& options_;
  const Clock::time_point start_ = Clock::now();
  Workload workload_;
  std::vector<TuneKind> kinds_;
  std::unique_ptr<Trial> found_;  ///< the best that is not the rules'
  Trial* best_trial_ = nullptr;
  TuneReport report_;
};

}  // namespace

TuneReport tune(const Model& model, const TuneOptions& options) {
  return Tuner(model, options).run();
}

}  // namespace tern
