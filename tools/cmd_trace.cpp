// tern trace: summarises a trace, and merges traces of several ranks.
#include <fmt/format.h>
#include <tern/error.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "tools/bounds.h"
#include "tools/command.h"
#include "tools/flight/flight.h"
#include "tools/inputs.h"
#include "tools/option_text.h"
#include "tools/same_file.h"
#include "tools/text.h"
#include "tools/text_table.h"
#include "tools/trace/merge.h"
#include "tools/trace/summary.h"

namespace tern {
namespace {

struct TraceArguments {
  std::vector<std::string> files;
  std::string output;
  int max_rows = 12;
  bool json = false;
};

int summarize(const TraceArguments& a) {
  TraceSummary summary = summarize_trace(load_trace(a.files[0]));
  summary.path = a.files[0];
  fmt::print("{}", a.json ? trace_json(summary) : trace_text(summary, a.max_rows));
  return 0;
}

std::string merged_json(const TraceArguments& a, const MergedTrace& m) {
  nlohmann::json collectives = nlohmann::json::array();
  for (const JoinedCollective& c : m.collectives)
    collectives.push_back({{"group", c.group},
                           {"seq", c.sequence},
                           {"name", c.name},
                           {"waited_us", c.waited},
                           {"last_rank", m.ranks[c.last]}});
  const nlohmann::json document = {{"output", a.output},        {"events", m.events},
                                   {"ranks", m.ranks},          {"offsets_us", m.offsets},
                                   {"residual_us", m.residual}, {"collectives", collectives}};
  return document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

std::string merged_text(const TraceArguments& a, const MergedTrace& m) {
  std::string text = fmt::format("{}: {} events of {} ranks\n", escape_name(a.output), m.events, m.ranks.size());
  if (m.collectives.empty()) return text + "  no collective that all ranks have: the clocks stay as they were\n";
  for (std::size_t i = 0; i < m.ranks.size(); ++i)
    text += fmt::format("  rank {}: {:+.3f} us\n", m.ranks[i], m.offsets[i]);
  text += fmt::format("  {} collectives in common; their ends differ by at most {:.3f} us now\n\n",
                      m.collectives.size(), m.residual);
  using Align = TextTable::Align;
  TextTable table(
      {{"group"}, {"seq", Align::right}, {"collective"}, {"waited us", Align::right}, {"for rank", Align::right}});
  for (std::size_t i = 0; i < m.collectives.size() && static_cast<int>(i) < a.max_rows; ++i) {
    const JoinedCollective& c = m.collectives[i];
    table.add_row({escape_name(c.group), fmt::format("{}", c.sequence), escape_name(c.name),
                   fmt::format("{:.3f}", c.waited), fmt::format("{}", m.ranks[c.last])});
  }
  return text + table.str();
}

int merge(const TraceArguments& a) {
  const std::vector<std::string> traces(a.files.begin() + 1, a.files.end());
  refuse_to_replace("--output", a.output, traces);
  const MergedTrace merged = merge_traces(traces, a.output);
  fmt::print("{}", a.json ? merged_json(a, merged) : merged_text(a, merged));
  return 0;
}

int flight(const TraceArguments& a) {
  if (a.files.size() != 2 || !a.output.empty())
    fail(ErrorCode::invalid_argument, "flight needs a folder of records: tern trace flight FOLDER");
  return run_flight(a.files[1]);
}

int run_trace(const TraceArguments& a) {
  if (a.files[0] == "flight") return flight(a);
  const bool merges = a.files[0] == "merge";
  if (merges && (a.output.empty() || a.files.size() < 3))
    fail(ErrorCode::invalid_argument, "merge needs two or more traces, and --output: tern trace merge A B -o ALL");
  if (!merges && (a.files.size() > 1 || !a.output.empty()))
    fail(ErrorCode::invalid_argument, "a summary takes one trace; 'tern trace merge A B -o ALL' joins several");
  return merges ? merge(a) : summarize(a);
}

}  // namespace

void add_trace_command(Command app, CommandLine& line) {
  auto a = std::make_shared<TraceArguments>();
  const Command c = app.add_subcommand(
      "trace", "Summarize a trace of runs, merge the traces of several ranks, or find the ranks that wait for others");
  c.add_option("file", a->files,
               "A trace of --trace or of torch.profiler, .json or .json.gz; or the word merge and the traces of "
               "several ranks; or the word flight and a folder of flight records, tern_flight_0, tern_flight_1, ...")
      .required();
  c.add_option("-o,--output", a->output, "Output file of merge; .json.gz is compressed").type_name("FILE");
  require_range(c.add_option("--most", a->max_rows, "Rows of each table").capture_default_str(), bounds::kListed);
  c.add_flag("--json", a->json, "Print all figures as JSON");
  c.footer(
      "Examples:\n  tern run model.tern --random --trace run.json.gz\n  tern trace run.json.gz --most 20\n"
      "  tern trace merge rank0.json rank1.json -o ranks.json.gz\n"
      "  tern trace flight /tmp/flight\n\n"
      "Host times are an op's own, without the ops in it; device times are those of the kernels and copies that it "
      "started. merge aligns the ranks' clocks by the collectives that all of them have, and names the ranks that the "
      "others waited for. docs/traces.md lists the fields.\n"
      "A rank writes its flight record to TERN_FLIGHT_FOLDER if a group fails, or at SIGUSR2; PyTorch's torchfrtrace "
      "reads these files too. The status of flight is 1 if a rank waits, or calls differ.");
  c.callback([a, &line] { line.status = run_trace(*a); });
}

}  // namespace tern
