// The report of tern verify for people.
#include "tools/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "schema/op_record.h"
#include "tools/text_table.h"
#include "tools/verify/report.h"

namespace tern {
namespace {

using Align = TextTable::Align;

std::string not_finite(const Deviation& d) {
  return d.not_finite > 0 ? fmt::format("{} not finite", d.not_finite) : "";
}

std::vector<std::string> cells_of(const ResultDeviation& r, bool several) {
  std::vector<std::string> cells = {escape_name(r.name)};
  if (several) cells.push_back(fmt::format("{}", r.call));
  cells.push_back(r.dtype == DType::invalid ? "None" : fmt::format("{}{}", name_of(r.dtype), sizes_text(r.sizes)));
  if (!r.mismatch.empty()) {
    cells.push_back(r.mismatch);
    return cells;
  }
  if (r.dtype == DType::invalid) return cells;
  const Deviation& d = r.deviation;
  const bool numbers = is_floating(r.dtype) || is_complex(r.dtype);
  cells.push_back(numbers ? fmt::format("{:.8f}", d.cosine()) : "");
  cells.push_back(numbers || d.exact() ? decibels(d) : "");
  cells.push_back(fmt::format("{:.3g}", d.largest_error));
  cells.push_back(fmt::format("{:.2e}", d.relative()));
  cells.push_back(d.rows > 0 ? fmt::format("{} of {}", d.same_rows, d.rows) : "");
  cells.push_back(not_finite(d));
  return cells;
}

/// True if a result is less exact than in another call.
bool is_worse(const ResultDeviation& a, const ResultDeviation& b) {
  if (a.mismatch.empty() != b.mismatch.empty()) return !a.mismatch.empty();
  if (a.deviation.not_finite != b.deviation.not_finite) return a.deviation.not_finite > b.deviation.not_finite;
  return a.deviation.sqnr() < b.deviation.sqnr();
}

/// The worst call of each result.
std::vector<ResultDeviation> worst_calls(const std::vector<ResultDeviation>& deviations) {
  std::vector<ResultDeviation> worst;
  for (const ResultDeviation& r : deviations) {
    const auto found = std::ranges::find(worst, r.name, &ResultDeviation::name);
    if (found == worst.end()) {
      worst.push_back(r);
    } else if (is_worse(r, *found)) {
      *found = r;
    }
  }
  return worst;
}

std::string origin_text(const Program& program, const Node& n) {
  if (n.origin < 0 || static_cast<std::size_t>(n.origin) >= program.origins.size()) return "";
  const Origin& o = program.origins[static_cast<std::size_t>(n.origin)];
  return escape_name(o.op + (o.module.empty() ? "" : " in " + o.module) + (o.source.empty() ? "" : ", " + o.source));
}

/// Title naming the two runs of the listed nodes.
std::string nodes_title(const VerifyReport& report) {
  const std::string runs =
      fmt::format("{} against {}", escape_name(report.nodes_run), escape_name(report.nodes_against));
  if (!report.nodes_of_model_alone) return fmt::format("\nNodes, {}: ", runs);
  return fmt::format(
      "\nNodes of {} only, {} of the same weights: both runs have the error of the weights, so no figure here includes "
      "it.\n",
      escape_name(report.model), runs);
}

std::string nodes_text(const VerifyReport& report) {
  if (report.nodes.empty() && report.nodes_of_model_alone)
    return fmt::format(
        "\nNo nodes: without --precision, --device or --reproducible, {} runs like its own float32 run, and no node "
        "adds an error.\nThe differences above come from its weights, or from the origin of the expected results.\n",
        escape_name(report.model));
  const std::vector<NodeDeviation> nodes = shown_nodes(report);
  const Function& f = report.program->functions[report.number];
  TextTable table({{"node"},
                   {"op"},
                   {"own dB", Align::right},
                   {"of largest", Align::right},
                   {"accumulated dB", Align::right},
                   {"of largest", Align::right},
                   {""},
                   {"from"}});
  for (const NodeDeviation& n : nodes) {
    const Node& node = f.nodes[n.number];
    table.add_row({fmt::format("{}:{}", escape_name(f.name), n.number), std::string(op_name(node.op)),
                   n.isolated ? decibels(*n.isolated) : "",
                   n.isolated ? fmt::format("{:.1e}", n.isolated->relative()) : "",
                   n.mismatch.empty() ? decibels(n.accumulated) : n.mismatch,
                   n.mismatch.empty() ? fmt::format("{:.1e}", n.accumulated.relative()) : "", not_finite(n.accumulated),
                   origin_text(*report.program, node)});
  }
  const std::string which =
      report.worst > 0 ? fmt::format("{} of {} nodes, the largest own errors first", nodes.size(), report.nodes.size())
                       : fmt::format("{} nodes, in program order", nodes.size());
  return fmt::format(
      "{}{}\n{}\nOwn: the node alone, on the operands of the reference run. Accumulated: the node in the run under "
      "test, "
      "against the\nreference run. Views, integers and nodes of bodies have no line.\n",
      nodes_title(report), which, table.str());
}

std::string options_text(const std::vector<std::string>& patterns) {
  std::string text;
  for (const std::string& p : patterns) text += fmt::format("{}--keep '{}'", text.empty() ? "" : " ", escape_name(p));
  return text;
}

std::string advice_text(const VerifyReport& report) {
  if (report.advice.patterns.empty()) return "";
  std::string text = fmt::format("\nWith the nodes of the largest own errors kept in float32:\n  {}\n",
                                 options_text(report.advice.patterns));
  const Compared& before = report.results.compared.back();  // the run under test against the reference run
  const std::vector<ResultDeviation> now = worst_calls(report.advice.comparison.results),
                                     then = worst_calls(before.results);
  for (std::size_t i = 0; i < std::min(now.size(), then.size()); ++i) {
    if (!now[i].mismatch.empty() || !then[i].mismatch.empty() || then[i].deviation.exact() ||
        !(is_floating(now[i].dtype) || is_complex(now[i].dtype)))
      continue;
    text += fmt::format("  {}: {} instead of {} dB\n", escape_name(now[i].name),
                        now[i].deviation.exact() ? "exact" : decibels(now[i].deviation) + " dB",
                        decibels(then[i].deviation));
  }
  if (!report.advice.enough)
    text += fmt::format(
        "  That does not meet the limits, nor does keeping {} nodes: many nodes add errors of about the same size.\n",
        kMaxKept);
  return text;
}

}  // namespace

std::string decibels(const Deviation& d) {
  return d.exact() ? "exact" : fmt::format("{:.2f}", d.sqnr());
}

std::string compared_text(const Compared& c, std::size_t calls) {
  const bool several = calls > 1;
  std::vector<TextTable::Column> columns = {{"result"}, {"type"}};
  if (several) columns.insert(columns.begin() + 1, {"call", Align::right});
  for (const char* name : {"cosine", "SQNR dB", "largest error", "of largest", "first answers"})
    columns.push_back({name, Align::right});
  columns.push_back({""});
  TextTable table(columns);
  for (const ResultDeviation& r : several ? worst_calls(c.results) : c.results) table.add_row(cells_of(r, several));
  return fmt::format("\n{} against {}{}\n{}", escape_name(c.run), escape_name(c.against),
                     several ? fmt::format(": the worst of {} calls", calls) : "", table.str());
}

std::string verify_text(const VerifyReport& report) {
  const std::size_t calls = report.results.calls;
  std::string text = fmt::format("{}: '{}', {} call{}\n", escape_name(report.model), escape_name(report.function),
                                 calls, calls == 1 ? "" : "s");
  for (const Compared& c : report.results.compared) text += compared_text(c, calls);
  if (report.nodes_asked) text += nodes_text(report);
  text += report.broken.empty() ? "" : "\n";
  for (const std::string& line : report.broken) text += "FAIL " + line + "\n";
  return text + advice_text(report) + gains_text(report.gains);
}

}  // namespace tern
