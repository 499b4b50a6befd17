#include "tools/text.h"

#include <fmt/format.h>

#include <algorithm>

#include "tools/text_table.h"
#include "tools/trace/summary.h"

namespace tern {
namespace {

using Align = TextTable::Align;

std::string milliseconds_text(double microseconds) {
  return fmt::format("{:.3f}", microseconds / 1e3);
}

std::string percent_text(double amount, double total) {
  return total > 0 ? fmt::format("{:.1f} %", 100 * amount / total) : "";
}

/// Amount per time in units of 10^9 per second; empty if either is unknown.
std::string giga_per_second(double amount, double microseconds) {
  return amount > 0 && microseconds > 0 ? fmt::format("{:.1f}", amount / microseconds / 1e3) : "";
}

/// Table of the first `max_rows` sums; `has_rates` adds operations and bytes per second.
std::string table(const char* title, const std::vector<TraceSum>& sums, int max_rows, bool has_rates) {
  if (sums.empty()) return {};
  double total = 0;
  for (const TraceSum& s : sums) total += s.total();
  std::vector<TextTable::Column> columns = {{title},
                                            {"count", Align::right},
                                            {"host ms", Align::right},
                                            {"device ms", Align::right},
                                            {"share", Align::right}};
  if (has_rates) columns.insert(columns.end(), {{"GFLOP/s", Align::right}, {"GB/s", Align::right}});
  TextTable t(columns);
  for (std::size_t i = 0; i < sums.size() && static_cast<int>(i) < max_rows; ++i) {
    const TraceSum& s = sums[i];
    std::vector<std::string> row = {escape_name(s.name, 80), fmt::format("{}", s.count), milliseconds_text(s.host),
                                    s.device > 0 ? milliseconds_text(s.device) : "", percent_text(s.total(), total)};
    if (has_rates) {
      const double time = s.device > 0 ? s.device : s.host;
      row.insert(row.end(), {giga_per_second(s.flops, time), giga_per_second(s.bytes, time)});
    }
    t.add_row(row);
  }
  const std::size_t omitted_rows =
      sums.size() > static_cast<std::size_t>(max_rows) ? sums.size() - static_cast<std::size_t>(max_rows) : 0;
  return '\n' + t.str() + (omitted_rows > 0 ? fmt::format("... and {} more (--most)\n", omitted_rows) : "");
}

}  // namespace

std::string trace_text(const TraceSummary& s, int max_rows) {
  std::string text = fmt::format("{}: {} events in {} ms", escape_name(s.path), s.events, milliseconds_text(s.span));
  if (s.rank >= 0) text += fmt::format(", rank {} of {}", s.rank, s.world_size);
  text += fmt::format("\n  {} runs", s.runs);
  if (s.runs > 0) text += fmt::format(" of {} ms on average", milliseconds_text(s.run_mean));
  text += fmt::format(", {} ops, {} kernels, {} copies on the device ({})\n", s.ops, s.kernels, s.copies,
                      human_bytes(static_cast<std::uint64_t>(std::clamp(s.copied_bytes, 0.0, 1e18))));
  if (s.unfinished > 0) text += fmt::format("  {} events did not finish: the run failed\n", s.unfinished);
  if (s.dropped > 0) text += fmt::format("  {} events were dropped while it was recorded\n", s.dropped);
  if (s.skipped > 0) text += fmt::format("  {} events without usable times are left out\n", s.skipped);
  if (!s.busy.empty()) {
    TextTable t({{"where"},
                 {"span ms", Align::right},
                 {"computes", Align::right},
                 {"copies, communicates", Align::right},
                 {"idle", Align::right}});
    for (const TraceBusy& b : s.busy)
      t.add_row({b.resource, milliseconds_text(b.span), percent_text(b.compute, b.span), percent_text(b.copy, b.span),
                 percent_text(b.idle, b.span)});
    text += '\n' + t.str();
  }
  text += table("op", s.ops_by_time, max_rows, true);
  text += table("kernel", s.kernels_by_time, max_rows, false);
  text += table("module", s.modules, max_rows, true);
  text += table("annotation", s.annotations, max_rows, true);
  text += table("overhead", s.overheads, max_rows, false);
  text += table(fmt::format("on the critical path, {} ms", milliseconds_text(s.path_length)).c_str(), s.path_by_time,
                max_rows, false);
  return text;
}

}  // namespace tern
