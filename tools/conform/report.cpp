#include "tools/conform/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "exporter/gradients/registry.h"
#include "schema/op_record.h"
#include "tools/json_text.h"
#include "tools/text.h"
#include "tools/text_table.h"

namespace tern {
namespace {

using Json = nlohmann::ordered_json;

/// Passed, and not by the tolerance alone.
bool has_nearer(const ConformResult& r) {
  return r.is_passed() && !r.nearer.empty();
}

struct OpLine {
  int passed_count = 0, failed = 0, refused = 0, nearer = 0;
  double worst_ulp = 0;
};

std::map<std::string, OpLine> op_lines(std::span<const ConformResult> results) {
  std::map<std::string, OpLine> ops;
  for (const ConformResult& r : results) {
    OpLine& line = ops[r.op];
    ++(r.is_passed() ? line.passed_count : line.failed);
    line.refused += r.refused;
    line.nearer += has_nearer(r);
    if (r.is_passed()) line.worst_ulp = std::max(line.worst_ulp, r.worst_ulp);
  }
  return ops;
}

/// Number of failed cases without a gradient, and Tern's ops without a gradient rule.
std::string refused_text(std::span<const ConformResult> results) {
  std::string ops;
  for (int number = 1; number <= kMaxOp; ++number) {
    const Op op = static_cast<Op>(number);
    if (op_record(op).op == Op::invalid || find_gradient_rule(op) != nullptr || find_no_gradient(op) != nullptr)
      continue;
    ops += fmt::format("{}{}", ops.empty() ? "" : ", ", op_name(op));
  }
  return fmt::format("{} of the failed cases are refused: a gradient reaches an op without a gradient rule\n{}",
                     std::ranges::count_if(results, &ConformResult::refused),
                     ops.empty() ? std::string() : "Ops without a rule: " + ops + "\n");
}

Json operators_json(const std::vector<OperatorUse>& operators) {
  Json j = Json::object();
  for (const OperatorUse& use : operators) j[use.name] = {{"ops", use.ops}, {"dtypes", use.dtypes}};
  return j;
}

Json case_json(const ConformResult& r) {
  return {{"name", r.name},
          {"op", r.op},
          {"dtype", r.dtype},
          {"passed", r.is_passed()},
          {"refused", r.refused},
          {"stage", r.stage},
          {"message", r.message},
          {"worst_ulp", json_number(std::strtod(fmt::format("{:.3g}", r.worst_ulp).c_str(), nullptr))},
          {"nearer", r.nearer},
          {"seconds", json_rounded(r.seconds, 6)},
          {"operators", operators_json(r.operators)}};
}

std::string json_report(std::span<const ConformResult> results) {
  const auto passed_count = std::ranges::count_if(results, &ConformResult::is_passed);
  Json document = {{"cases", Json::array()},
                   {"passed", passed_count},
                   {"failed", std::ssize(results) - passed_count},
                   {"nearer", std::ranges::count_if(results, has_nearer)}};
  for (const ConformResult& r : results) document["cases"].push_back(case_json(r));
  return json_text(document) + "\n";
}

}  // namespace

std::string totals_line(std::span<const ConformResult> results) {
  const auto passed_count = std::ranges::count_if(results, &ConformResult::is_passed);
  return fmt::format("{} passed, {} failed\n", passed_count,
                     static_cast<std::ptrdiff_t>(results.size()) - passed_count);
}

std::string conform_report(std::span<const ConformResult> results, const ReportOptions& options) {
  if (options.json) return json_report(results);
  std::string report;
  int shown_count = 0, failed = 0;
  for (const ConformResult& r : results) {
    if (r.is_passed()) continue;
    ++failed;
    if (shown_count >= options.failures) continue;
    ++shown_count;
    report += fmt::format("FAILED {} ({}): {}\n", escape_name(r.name), r.stage, escape_message(r.message, 600));
  }
  if (failed > shown_count) report += fmt::format("... and {} more failures\n", failed - shown_count);
  for (const ConformResult& r : results) {
    if (!has_nearer(r)) continue;
    report += fmt::format("NEARER {}: {}\n", escape_name(r.name), fmt::join(r.nearer, ", "));
  }
  if (const auto n = std::ranges::count_if(results, has_nearer); n > 0) {
    report += fmt::format("{} of the passed cases {} outside the tolerance, but nearer to float64 than PyTorch\n", n,
                          n == 1 ? "is" : "are");
  }
  if (options.gradients) report += refused_text(results);
  if (options.table && !results.empty()) {
    std::vector<TextTable::Column> columns = {{"op", TextTable::Align::left},
                                              {"passed", TextTable::Align::right},
                                              {"failed", TextTable::Align::right},
                                              {"nearer", TextTable::Align::right},
                                              {"worst ulp", TextTable::Align::right}};
    if (options.gradients) columns.push_back({"refused", TextTable::Align::right});
    TextTable table(std::move(columns));
    for (const auto& [op, line] : op_lines(results)) {
      std::vector<std::string> row = {escape_name(op, 60), std::to_string(line.passed_count),
                                      std::to_string(line.failed), line.nearer > 0 ? std::to_string(line.nearer) : "",
                                      line.passed_count > 0 ? fmt::format("{:.3g}", line.worst_ulp) : ""};
      if (options.gradients) row.push_back(line.refused > 0 ? std::to_string(line.refused) : "");
      table.add_row(std::move(row));
    }
    report += table.str();
  }
  return report + totals_line(results);
}

}  // namespace tern
