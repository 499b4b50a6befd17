#include "exporter/tune/verdict.h"

#include <algorithm>

namespace tern {
namespace {

constexpr double kWorthIt = 0.02, kSlower = -0.01, kHopeless = -0.03, kHopelessAtOnce = -0.1;  // fractions of a run
constexpr std::size_t kFewest = 3;

double quantile(std::vector<double> values, double q) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

/// Relative gain of each turn.
std::vector<double> gains(const PairedRuns& t) {
  std::vector<double> run_gains;
  for (std::size_t i = 0; i < t.changed.function.size(); ++i)
    run_gains.push_back(1 - t.changed.function[i] / t.original.function[i]);
  return run_gains;
}

}  // namespace

double median(std::vector<double> values) {
  return values.empty() ? 0 : quantile(std::move(values), 0.5);
}

bool is_better(const PairedRuns& t) {
  const std::size_t run_count = t.changed.function.size();
  if (run_count < kFewest || median(gains(t)) < kSlower) return false;
  std::vector<double> of_nodes;
  for (std::size_t i = 0; i < run_count; ++i)
    of_nodes.push_back((t.original.nodes[i] - t.changed.nodes[i]) / t.original.function[i]);
  if (quantile(of_nodes, 0.25) <= 0) return false;
  return median(of_nodes) > kWorthIt || quantile(t.changed.nodes, 0.75) < quantile(t.original.nodes, 0.25);
}

bool is_hopeless(const PairedRuns& t) {
  const std::size_t run_count = t.changed.function.size();
  if (run_count < 2) return false;
  const std::vector<double> run_gains = gains(t);
  const double best_gain = std::ranges::max(run_gains);
  return best_gain < kHopelessAtOnce || (run_count >= kFewest && best_gain < 0 && median(run_gains) < kHopeless);
}

}  // namespace tern
