#include "exporter/recompute/limit_memory.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "exporter/recompute/again.h"
#include "schema/passes/dead_code.h"

namespace tern {
namespace {

using namespace recompute;

/// Most changes that are tried at one peak: each takes the time of a new schedule.
constexpr std::size_t kMostTries = 48;

/// Values that are held over the peak for later readers alone.
std::vector<ValueId> idle_at_peak(const Schedule& s) {
  std::vector<ValueId> found;
  const auto peak = static_cast<std::int32_t>(s.peak_step());
  for (std::size_t v = 0; v < s.version_count(); ++v) {
    const auto id = static_cast<ValueId>(v);
    if (s.root(id) != id || s.bytes(id) == 0) continue;
    const Life& l = s.life(id);
    if (l.first >= 0 && l.first < peak && l.last > peak && !std::ranges::binary_search(l.read_steps, peak))
      found.push_back(id);
  }
  return found;
}

bool is_lower(const Schedule& a, const Schedule& b) {
  return a.peak() < b.peak() || (a.peak() == b.peak() && a.peak_steps() < b.peak_steps());
}

/// Changes the schedule so that its peak is lower, or is reached at fewer steps: computes the value again that saves
/// most for its cost, among the values that are held at the peak without a reader there. Returns false, and changes
/// nothing, if no value helps.
bool reduce_peak(Schedule& schedule) {
  struct Try {
    Recomputation recomputation;
    double bytes_per_cost = 0;
  };
  std::vector<Try> tries;
  for (ValueId root : idle_at_peak(schedule)) {
    for (const Sharing sharing : {Sharing::on, Sharing::off}) {
      std::optional<Recomputation> planned = plan_recomputation(schedule, root, sharing);
      if (!planned) continue;
      const double bytes_per_cost = static_cast<double>(planned->saved) / std::max(planned->cost, 1.0);
      // The schedule without sharing differs in values of later readers alone.
      tries.push_back({std::move(*planned), sharing == Sharing::on ? bytes_per_cost : bytes_per_cost * 0.5});
    }
  }
  std::ranges::stable_sort(tries, std::greater<>(), &Try::bytes_per_cost);
  if (tries.size() > kMostTries) tries.resize(kMostTries);
  for (Try& t : tries) {
    Schedule candidate = schedule;
    candidate.insert(t.recomputation.insertion_step, std::move(t.recomputation.steps), t.recomputation.bases,
                     t.recomputation.replacements);
    if (!is_lower(candidate, schedule)) continue;
    schedule = std::move(candidate);
    return true;
  }
  return false;
}

std::vector<std::int64_t> evaluate(const Program& program, const std::map<std::string, std::int64_t>& sizes) {
  std::vector<std::int64_t> symbols, values(program.pool.nodes().size());
  for (const Symbol& s : program.pool.symbols()) {
    const auto found = sizes.find(s.name);
    symbols.push_back(found != sizes.end() ? found->second : kUndefined);
  }
  tern::evaluate(program.pool.nodes(), symbols, values);
  return values;
}

Program apply_schedule(const Program& program, std::uint32_t function, const Schedule& schedule) {
  Program candidate = program;
  candidate.functions[function] = schedule.function();
  remove_dead_code(candidate);
  return candidate;
}

std::string sizes_text(const std::map<std::string, std::int64_t>& sizes) {
  std::string text;
  for (const auto& [name, size] : sizes) text += fmt::format("{}{}={}", text.empty() ? " at " : ", ", name, size);
  return text;
}

/// Estimate of the next schedule to measure: the last estimate scaled towards the limit.
double next_estimate(double estimate, double measured, double limit) {
  constexpr double kMostOfTheWay = 0.7, kLeastProgress = 0.002, kMostProgress = 0.05;
  return estimate * (1 - std::clamp(kMostOfTheWay * (measured - limit) / measured, kLeastProgress, kMostProgress));
}

/// Measured schedule, as a program.
struct MeasuredProgram {
  Program program;
  RecomputeReport report;
};

[[noreturn]] void refuse_memory_limit(const Program& program, std::uint32_t function, const MemoryLimit& limit,
                                      const RecomputeReport& lower) {
  fail(ErrorCode::invalid_argument,
       fmt::format("{} bytes are too few for the intermediate values of '{}'{}: they need at least {} bytes with full "
                   "recomputation, and {} without",
                   *limit.bytes, program.functions[function].name, sizes_text(limit.sizes), lower.bytes_after,
                   lower.bytes_before));
}

}  // namespace

RecomputeReport limit_memory(Program& program, std::uint32_t function, const MemoryLimit& limit) {
  RecomputeReport report;
  report.bytes_before = report.bytes_after = limit.measure(program, function);
  const std::uint64_t target = limit.bytes.value_or(0);
  if (report.bytes_before <= target) return report;
  const Program original = program;
  Schedule schedule(original, function, evaluate(original, limit.sizes));
  const double cost = std::max(schedule.cost(), 1.0);
  MeasuredProgram smallest{original, report};
  bool lower = true;
  while (lower && smallest.report.bytes_after > target) {
    const double requested = next_estimate(static_cast<double>(schedule.peak()),
                                           static_cast<double>(report.bytes_after), static_cast<double>(target));
    do {
      lower = reduce_peak(schedule);
    } while (lower && static_cast<double>(schedule.peak()) > requested);
    Program candidate = apply_schedule(original, function, schedule);
    report.bytes_after = limit.measure(candidate, function);
    report.nodes = schedule.repeated_steps();
    report.cost = schedule.cost() / cost;
    if (report.bytes_after < smallest.report.bytes_after) smallest = {std::move(candidate), report};
  }
  if (limit.bytes && smallest.report.bytes_after > target)
    refuse_memory_limit(original, function, limit, smallest.report);
  program = std::move(smallest.program);
  return smallest.report;
}

}  // namespace tern
