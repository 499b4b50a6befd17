#include "tools/choices.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "exporter/tune/verdict.h"
#include "exporter/tune/workload.h"
#include "threads/threads.h"
#include "tools/json_text.h"
#include "tools/text.h"
#include "tools/text_table.h"

namespace tern {
namespace {

constexpr std::size_t kMinRuns = 3, kMaxRuns = 50;
using StepPlace = std::pair<std::uint32_t, std::uint32_t>;  // function, node

/// A program whose nodes take one algorithm where they can, and its runs.
struct AlgorithmTrial {
  AlgorithmChoice algorithm;  ///< the forced one; the rules choose for Algorithm::none
  std::unique_ptr<Trial> trial;
  std::map<std::pair<std::string, std::uint32_t>, std::vector<double>> seconds;

  void run(const Workload& workload) {
    trial->run(workload, {});
    for (const auto& [node, time] : trial->node_times()) seconds[node].push_back(time);
  }
};

class ChoiceMeasurement {
 public:
  ChoiceMeasurement(const Model& model, const ChoiceRequest& request)
      : model_(model), precision_(request.precision), workload_{{{request.function, request.inputs}}, {}} {}

  std::vector<NodeChoice> run(double limit) {
    add({}, {});
    const Trial& rules = *trials_[0].trial;
    std::set<AlgorithmChoice> algorithms;
    for (const auto& [place, step] : rules.steps()) algorithms.insert(step.algorithms.begin(), step.algorithms.end());
    for (const AlgorithmChoice a : algorithms) {
      if (a == Algorithm::onednn && Threads::current().count() > 1) continue;
      Tuning tuning;
      for (const auto& [place, step] : rules.steps()) {
        if (std::ranges::find(step.algorithms, a) != step.algorithms.end())
          tuning.choices.push_back({place.first, place.second, std::string(name_of(a))});
      }
      add(a, tuning);
    }
    const auto start = std::chrono::steady_clock::now();
    const auto elapsed = [&] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    for (std::size_t i = 0; i < kMaxRuns && (i < kMinRuns || elapsed() < limit); ++i) {
      for (AlgorithmTrial& t : trials_) t.run(workload_);
    }
    return choices();
  }

 private:
  void add(AlgorithmChoice a, const Tuning& tuning) {
    AlgorithmTrial t{a, std::make_unique<Trial>(model_, tuning, precision_), {}};
    t.trial->run(workload_, {});
    const auto uses_algorithm = [&](const auto& step) { return step.second.chosen == a; };
    if (a == Algorithm::none || std::ranges::any_of(t.trial->steps(), uses_algorithm)) trials_.push_back(std::move(t));
  }

  std::vector<NodeChoice> choices() const {
    std::map<std::string, std::vector<StepPlace>> kinds;
    for (const auto& [place, step] : trials_[0].trial->steps()) {
      if (step.chosen != Algorithm::none) kinds[step.kind].push_back(place);
    }
    std::vector<NodeChoice> node_choices;
    for (const auto& [kind, step_positions] : kinds) {
      NodeChoice choice = choice_of(step_positions);
      if (choice.algorithms.size() > 1) node_choices.push_back(std::move(choice));
    }
    std::ranges::stable_sort(node_choices, std::greater<>(), &NodeChoice::gain);
    return node_choices;
  }

  /// Times of nodes of one kind.
  NodeChoice choice_of(const std::vector<StepPlace>& step_positions) const {
    const Trial& rules = *trials_[0].trial;
    const SeenStep& step = rules.steps().at(step_positions[0]);
    NodeChoice choice{model_.program()->functions[step_positions[0].first].name,
                      step_positions[0].second,
                      step.description,
                      step_positions.size(),
                      {}};
    const std::vector<AlgorithmCost> estimates = rules.estimates(step_positions[0]);
    for (const AlgorithmTrial& t : trials_) {
      const bool chosen = t.algorithm == Algorithm::none;
      const AlgorithmChoice expected_choice = chosen ? step.chosen : t.algorithm;
      const auto is_chosen = [&](const StepPlace& p) {
        const auto found = t.trial->steps().find(p);
        return found != t.trial->steps().end() && found->second.chosen == expected_choice;
      };
      if ((!chosen && expected_choice == step.chosen) || !std::ranges::all_of(step_positions, is_chosen)) continue;
      double seconds = 0;
      for (const StepPlace& p : step_positions) {
        const auto found = t.seconds.find({model_.program()->functions[p.first].name, p.second});
        seconds += found == t.seconds.end() ? 0 : median(found->second);
      }
      const auto estimate = std::ranges::find(estimates, expected_choice.algorithm,
                                              [](const AlgorithmCost& c) { return c.choice.algorithm; });
      choice.algorithms.push_back({std::string(name_of(expected_choice)),
                                   seconds / static_cast<double>(step_positions.size()),
                                   estimate == estimates.end() ? 0 : estimate->seconds});
    }
    std::stable_sort(choice.algorithms.begin() + 1, choice.algorithms.end(),
                     [](const AlgorithmTime& a, const AlgorithmTime& b) { return a.seconds < b.seconds; });
    return choice;
  }

  const Model& model_;
  Precision precision_;
  Workload workload_;
  std::vector<AlgorithmTrial> trials_;  ///< the rules', then one for each algorithm
};

std::string algorithm_milliseconds(double seconds) {
  return fmt::format("{:.4f}", seconds * 1e3);
}

bool is_estimated(const AlgorithmTime& t) {
  return t.estimate > 0 && std::isfinite(t.estimate);
}

bool is_poor(const NodeChoice& c) {
  return c.slowdown() > kPoorChoice;
}

}  // namespace

const AlgorithmTime& NodeChoice::fastest() const {
  return *std::ranges::min_element(algorithms, {}, &AlgorithmTime::seconds);
}

std::vector<NodeChoice> measure_choices(const Model& model, const ChoiceRequest& request) {
  return ChoiceMeasurement(model, request).run(request.seconds);
}

std::string choices_text(const std::vector<NodeChoice>& choices) {
  using Align = TextTable::Align;
  TextTable table({{"node"},
                   {"nodes", Align::right},
                   {"op and sizes"},
                   {"algorithm"},
                   {"ms", Align::right},
                   {"estimate", Align::right},
                   {"to the best", Align::right}});
  for (const NodeChoice& c : choices) {
    for (const AlgorithmTime& t : c.algorithms) {
      const bool first = &t == &c.chosen();
      table.add_row({first ? fmt::format("{}:{}", escape_name(c.function), c.node) : "",
                     first ? fmt::format("{}", c.nodes) : "", first ? c.description : "",
                     t.algorithm + (first ? " (chosen)" : ""), algorithm_milliseconds(t.seconds),
                     is_estimated(t) ? algorithm_milliseconds(t.estimate) : "",
                     fmt::format("{:.2f}", t.seconds / c.fastest().seconds)});
    }
  }
  std::string text = table.str();
  const auto poor = std::ranges::count_if(choices, is_poor);
  text +=
      fmt::format("\n{} of {} choices take more than {} times the best algorithm\n", poor, choices.size(), kPoorChoice);
  for (const NodeChoice& c : choices) {
    if (is_poor(c)) {
      text += fmt::format("  {} x {}: {} {} ms, {} {} ms\n", c.nodes, c.description, c.chosen().algorithm,
                          algorithm_milliseconds(c.chosen().seconds), c.fastest().algorithm,
                          algorithm_milliseconds(c.fastest().seconds));
    }
  }
  return text;
}

std::string choices_json(const std::vector<NodeChoice>& choices) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const NodeChoice& c : choices) {
    Json algorithms = Json::array();
    for (const AlgorithmTime& t : c.algorithms) {
      algorithms.push_back({{"algorithm", t.algorithm}, {"ms", json_rounded(t.seconds * 1e3, 5)}});
      if (is_estimated(t)) algorithms.back()["estimate_ms"] = json_rounded(t.estimate * 1e3, 5);
    }
    list.push_back({{"function", c.function},
                    {"node", c.node},
                    {"what", c.description},
                    {"nodes", c.nodes},
                    {"chosen", c.chosen().algorithm},
                    {"to_the_best", json_rounded(c.slowdown(), 3)},
                    {"algorithms", std::move(algorithms)}});
  }
  return json_text(list);
}

}  // namespace tern
