// tern ops: the names known to the importer, and Tern's own ops.
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "exporter/import/refused.h"
#include "exporter/operator_names.h"
#include "schema/op_record.h"
#include "tools/command.h"
#include "tools/json_text.h"
#include "tools/op_text.h"
#include "tools/text_table.h"

namespace tern {
namespace {

struct OpsArguments {
  std::string pattern;
  bool json = false;
};

/// Matches a pattern: * for any characters and ? for one; a pattern without wildcards matches a substring.
bool matches(std::string_view pattern, std::string_view name) {
  if (pattern.find_first_of("*?") == std::string_view::npos) return name.find(pattern) != std::string_view::npos;
  std::size_t p = 0, n = 0, star = std::string_view::npos, retry = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      retry = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p, ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++retry;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

struct Listing {
  std::vector<OperatorName> names;
  std::vector<importing::Refusal> refused;
  std::vector<OpRecord> ops;
};

Listing listing(const std::string& pattern) {
  Listing l;
  for (OperatorName& n : operator_names()) {
    if (matches(pattern, n.name)) l.names.push_back(std::move(n));
  }
  for (const importing::Refusal& r : importing::refusals()) {
    if (matches(pattern, r.name)) l.refused.push_back(r);
  }
  for (int number = 1; number <= kMaxOp; ++number) {
    const OpRecord& info = op_record(static_cast<Op>(number));
    if (info.op != Op::invalid && matches(pattern, info.name)) l.ops.push_back(info);
  }
  return l;
}

void print_ops_json(const Listing& l) {
  using Json = nlohmann::ordered_json;
  Json document = {{"names", Json::array()}, {"refused", Json::array()}, {"ops", Json::array()}};
  for (const OperatorName& n : l.names) {
    Json name = {{"name", n.name}, {"kind", operator_kind_name(n.kind)}};
    if (!n.twin.empty()) name["computed_as"] = n.twin;
    document["names"].push_back(std::move(name));
  }
  for (const importing::Refusal& r : l.refused) document["refused"].push_back({{"name", r.name}, {"reason", r.reason}});
  for (const OpRecord& o : l.ops) document["ops"].push_back(record_json(o));
  fmt::print("{}\n", json_text(document));
}

/// "2", "1 to 3", "1 or more".
std::string count_text(int min_count, int max_count) {
  if (min_count == max_count) return std::to_string(min_count);
  return max_count < 0 ? (min_count == 0 ? "any" : fmt::format("{} or more", min_count))
                       : fmt::format("{} to {}", min_count, max_count);
}

void print_ops_text(const Listing& l, const std::string& pattern) {
  if (!l.names.empty()) {
    TextTable names({{"PyTorch's operator"}, {"kind"}, {"computed as"}});
    for (const OperatorName& n : l.names) {
      names.add_row({n.name, std::string(operator_kind_name(n.kind)), n.twin});
    }
    fmt::print("{}", names.str());
  }
  for (const importing::Refusal& r : l.refused)
    fmt::print("{}{} is refused: {}\n", l.names.empty() ? "" : "\n", r.name, r.reason);
  if (!l.ops.empty()) {
    TextTable ops({{"Tern's op"},
                   {"number", TextTable::Align::right},
                   {"version", TextTable::Align::right},
                   {"inputs"},
                   {"outputs"}});
    for (const OpRecord& o : l.ops) {
      ops.add_row({std::string(o.name), std::to_string(static_cast<int>(o.op)), std::to_string(o.version),
                   count_text(o.min_inputs, o.max_inputs), o.outputs < 0 ? "any" : std::to_string(o.outputs)});
    }
    fmt::print("{}{}", l.names.empty() ? "" : "\n", ops.str());
  }
  for (const OpRecord& o : l.ops) {
    if (o.name == pattern) fmt::print("\n{}", record_text(o));
  }
  fmt::print("{}{} operators of PyTorch, {} ops of Tern\n", l.names.empty() && l.ops.empty() ? "" : "\n",
             l.names.size(), l.ops.size());
}

int run_ops(const OpsArguments& a) {
  const Listing l = listing(a.pattern);
  a.json ? print_ops_json(l) : print_ops_text(l, a.pattern);
  return l.names.empty() && l.refused.empty() && l.ops.empty() ? kExitFindings : 0;
}

}  // namespace

void add_ops_command(Command app, CommandLine& line) {
  auto a = std::make_shared<OpsArguments>();
  const Command c = app.add_subcommand("ops", "List PyTorch's operators that can be imported, and Tern's own ops");
  c.add_option("pattern", a->pattern, "Only names that contain this; * stands for any characters, ? for one");
  c.add_flag("--json", a->json, "Print the lists as JSON");
  c.footer(
      "Examples:\n  tern ops softmax\n  tern ops 'aten.*_norm*'\n\n"
      "Kinds of operators:\n"
      "  lowered    becomes Tern's ops\n"
      "  written    computed as another operator whose results are written back\n"
      "  memory     a tensor's memory or layout, which the importer resolves\n"
      "  host       sizes, numbers and assertions\n"
      "  no effect  left out\n"
      "  control    control flow\n"
      "If the pattern is the name of one of Tern's own ops, a description of its nodes follows: operands and results "
      "(? may be absent, * any number, + one or more), attributes with types, defaults and bounds, and traits.\n\n"
      "docs/ops.md lists the ops of each operator, and its largest error. Exit status: 0 names are listed, 1 no name "
      "matches.");
  c.callback([a, &line] { line.status = run_ops(*a); });
}

}  // namespace tern
