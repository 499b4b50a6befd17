#include "exporter/recompute/limit_memory.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "exporter/recompute/reduce.h"
#include "schema/passes/dead_code.h"

namespace tern {
namespace {

using recompute::Schedule;

std::vector<std::int64_t> evaluate(const Program& program, const std::map<std::string, std::int64_t>& sizes) {
  std::vector<std::int64_t> symbols, values(program.pool.nodes().size());
  for (const Symbol& s : program.pool.symbols()) {
    const auto found = sizes.find(s.name);
    symbols.push_back(found != sizes.end() ? found->second : kUndefined);
  }
  tern::evaluate(program.pool.nodes(), symbols, values);
  return values;
}

Program with_schedule(const Program& program, std::uint32_t function, const Schedule& schedule) {
  Program changed = program;
  changed.functions[function] = schedule.function();
  remove_dead_code(changed);
  return changed;
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
struct Measured {
  Program program;
  RecomputeReport report;
};

[[noreturn]] void refuse(const Program& program, std::uint32_t function, const MemoryLimit& limit,
                         const RecomputeReport& least) {
  fail(ErrorCode::invalid_argument,
       fmt::format("{} bytes are too few for the intermediate values of '{}'{}: they take at least {} bytes, with all "
                   "made again that may be, and {} with nothing made again",
                   *limit.bytes, program.functions[function].name, sizes_text(limit.sizes), least.after, least.before));
}

}  // namespace

RecomputeReport limit_memory(Program& program, std::uint32_t function, const MemoryLimit& limit) {
  RecomputeReport report;
  report.before = report.after = limit.measure(program, function);
  const std::uint64_t target = limit.bytes.value_or(0);
  if (report.before <= target) return report;
  const Program before = program;
  Schedule schedule(before, function, evaluate(before, limit.sizes));
  const double cost = std::max(schedule.cost(), 1.0);
  Measured least{before, report};
  bool lower = true;
  while (lower && least.report.after > target) {
    const double wanted = next_estimate(static_cast<double>(schedule.peak()), static_cast<double>(report.after),
                                        static_cast<double>(target));
    do {
      lower = recompute::reduce_peak(schedule);
    } while (lower && static_cast<double>(schedule.peak()) > wanted);
    Program changed = with_schedule(before, function, schedule);
    report.after = limit.measure(changed, function);
    report.nodes = schedule.repeated();
    report.cost = schedule.cost() / cost;
    if (report.after < least.report.after) least = {std::move(changed), report};
  }
  if (limit.bytes && least.report.after > target) refuse(before, function, limit, least.report);
  program = std::move(least.program);
  return least.report;
}

}  // namespace tern
