// The figures of tern bench --threads 1,2,4 and --cores 8,32 as text.
#include <fmt/format.h>

#include <algorithm>

#include "tools/scaling/scaling.h"
#include "tools/terminal.h"

namespace tern {
namespace {

using Align = TextTable::Align;

/// Percentage of all threads' time.
std::string share_scaling_text(double seconds, const ThreadSeconds& thread_seconds, int threads) {
  const double total = threads * thread_seconds.wall;
  return total > 0 ? fmt::format("{:.1f} %", 100 * seconds / total) : "";
}

double scaling_of(const ScalingPoint& one_thread, const ScalingPoint& p) {
  return p.median() > 0 ? one_thread.median() / p.median() : 0;
}

std::string label(const ScalingPoint& p) {
  return fmt::format("{}{}", p.threads, p.simulated ? " simulated" : "");
}

void add_shares(std::vector<std::string>& cells, const ThreadSeconds& t, int threads) {
  for (const double lost : {t.idle(), t.waits(), t.slowdown, t.openmp})
    cells.push_back(threads > 1 ? share_scaling_text(lost, t, threads) : std::string());
}

void print_totals(const ScalingMeasurement& scaling) {
  TextTable table({{"threads"},
                   {"median ms", Align::right},
                   {"scaling", Align::right},
                   {"idle", Align::right},
                   {"waiting", Align::right},
                   {"more work", Align::right},
                   {"OpenMP", Align::right}});
  for (const ScalingPoint& p : scaling.points) {
    std::vector<std::string> cells = {label(p), fmt::format("{:.3f}", p.median()),
                                      fmt::format("{:.2f}", scaling_of(scaling.points.front(), p))};
    add_shares(cells, p.total, p.threads);
    table.add_row(std::move(cells));
  }
  fmt::print("{}", table.str());
}

void print_nodes(const ScalingPoint& p, int max_rows) {
  TextTable table({{"node"},
                   {"op"},
                   {"from"},
                   {"ms on 1", Align::right},
                   {"ms", Align::right},
                   {"scaling", Align::right},
                   {"idle", Align::right},
                   {"waiting", Align::right},
                   {"more work", Align::right},
                   {"OpenMP", Align::right},
                   {"loops", Align::right},
                   {"parts", Align::right}});
  const auto row = [&](const NodeScaling& n, const ThreadSeconds& t) {
    std::vector<std::string> cells = {n.name,
                                      n.op,
                                      n.origin,
                                      fmt::format("{:.3f}", t.useful * 1e3),
                                      fmt::format("{:.3f}", t.wall * 1e3),
                                      t.wall > 0 ? fmt::format("{:.2f}", t.useful / t.wall) : ""};
    add_shares(cells, t, p.threads);
    cells.push_back(n.name.empty() ? "" : fmt::format("{}", n.loops));
    cells.push_back(n.max_loop_parts == 0 ? "" : fmt::format("{}", n.max_loop_parts));
    table.add_row(std::move(cells));
  };
  for (std::size_t i = 0; i < std::min(p.nodes.size(), static_cast<std::size_t>(max_rows)); ++i)
    row(p.nodes[i], p.nodes[i].time);
  NodeScaling between_nodes_row;
  between_nodes_row.op = "between nodes";
  row(between_nodes_row, p.between_nodes);
  fmt::print("\n{} threads{}: the nodes that lose most\n{}", p.threads, p.simulated ? ", simulated" : "", table.str());
}

}  // namespace

void print_scaling(const ScalingRequest& request, const ScalingMeasurement& scaling, int nodes) {
  fmt::print("{}: '{}', {} turns{}\n\n", escape_name(request.model), escape_name(request.function), scaling.turn_count,
             request.options.precision == Precision::exported
                 ? ""
                 : fmt::format(", precision {}", scaling.bfloat16 ? "bfloat16" : "as exported"));
  print_totals(scaling);
  if (!request.cores.empty()) {
    fmt::print(
        "\nSimulated: parts run one after the other, each timed alone, on cores as fast as this one. A loop begins and "
        "ends in {:.2f} us\n(measured with two threads) times log2 of the cores. Memory gives all cores together "
        "{:.0f} "
        "GB/s (--bandwidth).\nA node reads its weights from there once, and other operands once for each part.\n",
        scaling.barrier * 1e6, request.bytes_per_second / 1e9);
  }
  if (nodes <= 0) return;
  for (const ScalingPoint& p : scaling.points) {
    if (p.threads > 1) print_nodes(p, nodes);
  }
  fmt::print(
      "\nShares are of threads x ms. Idle: threads without a part of a loop, or outside of loops. Waiting: threads "
      "that "
      "begin their part late\nor end it early. More work: parts that take longer than on one thread, because they read "
      "the same weights or share caches.\nOpenMP: loops of libraries, which run on OpenMP's threads; Tern sees only "
      "how "
      "long they take.\n");
}

}  // namespace tern
