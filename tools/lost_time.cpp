#include "tools/lost_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <tuple>

#include "tools/text_table.h"

namespace tern {
namespace {

struct SizeClass {
  double bytes;
  const char* name;
};
constexpr SizeClass kSizeClasses[] = {{64e3, "to 64 kB"}, {1e6, "to 1 MB"}, {16e6, "to 16 MB"}, {1e300, "above 16 MB"}};

const char* size_class(double bytes) {
  return std::ranges::find_if(kSizeClasses, [&](const SizeClass& c) { return bytes <= c.bytes; })->name;
}

double visits_of(const NodeTime& n) {
  return static_cast<double>(std::max<std::uint64_t>(1, n.runs));
}

/// Limits of one visit.
void set_limit(LimitedNode& n, double visits, DType products, const MachinePeaks& peaks) {
  const double bytes = n.time.bytes / visits_of(n.time);
  const std::pair<double, LimitKind> limits[] = {
      {n.time.flops / visits_of(n.time) / peaks.products_of(products), LimitKind::arithmetic},
      {bytes / peaks.copy_rate(bytes), LimitKind::bytes},
      {peaks.call_seconds, LimitKind::latency}};
  const auto& largest = *std::ranges::max_element(limits, {}, &std::pair<double, LimitKind>::first);
  n.limit = largest.first * visits;
  n.kind = largest.second;
}

}  // namespace

bool runs_other_nodes(const std::string& op) {
  return op == "cond" || op == "while_loop" || op == "scan_loop" || op == "map_loop" || op == "call";
}

std::string_view name_of(LimitKind kind) {
  constexpr std::string_view kLimitNames[] = {"arithmetic", "bytes", "latency"};
  return kLimitNames[static_cast<std::size_t>(kind)];
}

std::vector<LimitedNode> limited_nodes(const std::vector<NodeTime>& nodes, std::uint64_t run_count,
                                       const ChosenKernels& chosen, const MachinePeaks& peaks) {
  const auto all_runs = static_cast<double>(std::max<std::uint64_t>(1, run_count));
  std::vector<LimitedNode> limited;
  for (const NodeTime& time : nodes) {
    if (runs_other_nodes(time.op)) continue;
    LimitedNode n{time, {}, time.seconds / all_runs, 0, LimitKind::latency};
    DType products = DType::f32;
    if (const auto kernel = chosen.find({time.function, time.node}); kernel != chosen.end()) {
      n.algorithm = kernel->second.algorithm;
      products = kernel->second.products;
    }
    set_limit(n, visits_of(time) / all_runs, products, peaks);
    limited.push_back(std::move(n));
  }
  return limited;
}

std::vector<LostTime> lost_by_class(const std::vector<LimitedNode>& nodes) {
  std::map<std::tuple<std::string, std::string, std::string>, LostTime> classes;
  for (const LimitedNode& n : nodes) {
    const char* size = size_class(n.time.bytes / visits_of(n.time));
    LostTime& sum = classes[{n.time.op, n.algorithm, size}];
    sum.op = n.time.op;
    sum.algorithm = n.algorithm;
    sum.size = size;
    ++sum.nodes;
    sum.seconds += n.seconds;
    sum.limit += std::min(n.limit, n.seconds);
    sum.lost += n.lost();
  }
  std::vector<LostTime> sorted;
  for (auto& [key, sum] : classes) sorted.push_back(std::move(sum));
  std::ranges::stable_sort(sorted, std::greater<>(), &LostTime::lost);
  return sorted;
}

std::string lost_text(const std::vector<LostTime>& lost) {
  using Align = TextTable::Align;
  TextTable table({{"op"},
                   {"algorithm"},
                   {"bytes of a node"},
                   {"nodes", Align::right},
                   {"ms", Align::right},
                   {"limit", Align::right},
                   {"lost", Align::right},
                   {"of all", Align::right}});
  LostTime total;
  for (const LostTime& l : lost) {
    total.nodes += l.nodes;
    total.seconds += l.seconds;
    total.limit += l.limit;
    total.lost += l.lost;
  }
  const auto row = [&](const std::string& op, const LostTime& l) {
    table.add_row({op, l.algorithm, l.size, fmt::format("{}", l.nodes), fmt::format("{:.3f}", l.seconds * 1e3),
                   fmt::format("{:.3f}", l.limit * 1e3), fmt::format("{:.3f}", l.lost * 1e3),
                   total.seconds > 0 ? fmt::format("{:.0f} %", 100 * l.lost / total.seconds) : ""});
  };
  for (const LostTime& l : lost) row(l.op, l);
  row("all", total);
  return table.str();
}

}  // namespace tern
