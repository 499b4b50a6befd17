#include "tools/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

#include "tools/inspect/cost.h"
#include "tools/inspect/inspect.h"
#include "tools/inspect/nodes.h"
#include "tools/sizes.h"
#include "tools/text_table.h"
#include "tools/widened_text.h"

namespace tern {
namespace {

std::string type_text(const Program& p, const Function& f, ValueId v) {
  if (v < 0 || static_cast<std::size_t>(v) >= f.values.size()) return "None";
  return escape_name(text_of(f.values[static_cast<std::size_t>(v)].type, p.pool));
}

std::string output_text(const Program& p, const Function& f, const FunctionOutput& output) {
  const std::string type = type_text(p, f, output.value);
  switch (output.kind) {
    case FunctionOutput::Kind::integer: return "int";
    case FunctionOutput::Kind::number: return "float";
    case FunctionOutput::Kind::boolean: return "bool";
    default: return output.name.empty() ? type : escape_name(output.name) + ": " + type;
  }
}

/// " --input x=FILE --size s0=N": options of tern run.
std::string run_options(const Program& p, const Function& f) {
  std::string text;
  for (const FunctionInput& input : f.inputs) {
    if (input.kind == FunctionInput::Kind::user) text += " --input " + escape_name(input.name) + "=FILE";
  }
  if (text.empty()) text = " no inputs";
  const std::vector<std::string> sizes = size_names(p, f);
  if (!sizes.empty()) text += ", or with --random";
  for (const std::string& name : sizes) text += " --size " + escape_name(name) + "=N";
  return text;
}

void add_function(std::string& report, const Program& p, std::size_t number) {
  const Function& f = p.functions[number];
  report += fmt::format("{} '{}', {} nodes\n", f.entry ? "function" : fmt::format("body {}", number),
                        escape_name(f.name), f.nodes.size());
  std::size_t states = 0;
  for (const FunctionInput& input : f.inputs) {
    if (input.kind == FunctionInput::Kind::state) {
      ++states;
    } else if (input.kind == FunctionInput::Kind::none) {
      report += fmt::format("  in   {} = {} (fixed)\n", escape_name(input.name),
                            input.constant.empty() ? "None" : escape_name(input.constant));
    } else {
      report += fmt::format("  in   {}: {}\n", escape_name(input.name), type_text(p, f, input.value));
    }
  }
  for (const FunctionOutput& o : f.outputs) report += "  out  " + output_text(p, f, o) + "\n";
  for (const WriteBack& w : f.writebacks) {
    const bool state = w.target == WriteBack::Target::state;
    report += fmt::format("  {} '{}'\n", state ? "updates state" : "writes input",
                          escape_name(state ? p.states[w.index].name : f.inputs[w.index].name));
  }
  const std::vector<std::string> relations = assumed_relations(f);
  constexpr std::size_t kMaxRelations = 12;
  for (const std::string& text : std::span(relations).first(std::min(relations.size(), kMaxRelations)))
    report += "  assumes " + escape_name(text, 1000) + "\n";
  if (relations.size() > kMaxRelations) report += fmt::format("  assumes {} more\n", relations.size() - kMaxRelations);
  if (states > 0 && f.entry) report += fmt::format("  reads {} states\n", states);
  constexpr std::size_t kMaxShownFunctions = 64;  // limits the time: each looks at all sizes of the program
  if (f.entry && number < kMaxShownFunctions) report += "  tern run takes" + run_options(p, f) + "\n";
}

/// "1,234,567"
std::string grouped(std::uint64_t n) {
  std::string text = std::to_string(n);
  for (std::size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, ",");
  return text;
}

std::string plural(std::uint64_t n, const char* noun) {
  return fmt::format("{} {}{}", grouped(n), noun, n == 1 ? "" : "s");
}

/// "1.25 GFLOP"
std::string flops_text(double flops) {
  for (const auto& [unit, name] : {std::pair(1e12, "TFLOP"), std::pair(1e9, "GFLOP"), std::pair(1e6, "MFLOP")}) {
    if (flops >= unit) return fmt::format("{:.2f} {}", flops / unit, name);
  }
  return fmt::format("{:.0f} FLOP", flops);
}

void add_cost(std::string& report, const Program& p, const ProgramCost& cost) {
  report += fmt::format("\nparameters: {} in {}", grouped(cost.parameters), plural(cost.parameter_tensors, "tensor"));
  if (cost.buffer_tensors > 0)
    report +=
        fmt::format("; buffers and constants: {} in {}", grouped(cost.buffers), plural(cost.buffer_tensors, "tensor"));
  report += "\n";
  std::string ops;
  for (const std::string& name : cost.custom_ops) ops += (ops.empty() ? "" : ", ") + escape_name(name);
  if (!ops.empty()) report += "custom operators, which a library given by --ops must provide: " + ops + "\n";
  for (const FunctionCost& c : cost.functions) {
    std::string sizes;
    for (const auto& [name, value] : c.sizes) sizes += fmt::format(", {} = {}", escape_name(name), value);
    report += fmt::format("a run of '{}'{}: ", escape_name(c.name), sizes);
    if (!c.problem.empty()) {
      report += "cannot be planned: " + escape_message(c.problem, 1000) + "\n";
      continue;
    }
    report += fmt::format("{}, peak memory {} besides the weights ({} intermediate values, {} mutable state)\n",
                          flops_text(c.flops), human_bytes(c.peak()), human_bytes(c.arena), human_bytes(c.states));
  }
  if (p.functions.size() > cost.functions.size()) report += "(each body of control flow counts once)\n";
}

void add_symbols(std::string& report, const Program& p) {
  if (p.pool.symbols().empty()) return;
  report += "\nsymbolic sizes\n";
  for (const Symbol& s : p.pool.symbols()) {
    report +=
        fmt::format("  {}: {} to {}\n", escape_name(s.name), s.min, s.max == kNoBound ? "any" : std::to_string(s.max));
  }
}

void add_weights(std::string& report, const ReadArchive& a, std::size_t limit) {
  const Program& p = *a.program;
  if (p.states.empty()) return;
  std::vector<bool> is_other(p.storages.size()), of_weights(a.segments.size());
  for (const DeviceKernel& k : p.kernels) is_other[k.storage] = true;
  for (const AttachedFile& f : p.files) is_other[f.storage] = true;
  std::uint64_t total = 0, stored_bytes = 0, segments = 0;
  for (std::size_t i = 0; i < p.storages.size(); ++i) {
    if (is_other[i]) continue;
    total = total + p.storages[i].size < total ? ~std::uint64_t{0} : total + p.storages[i].size;
    const auto segment = static_cast<std::size_t>(a.segment_of[i]);
    if (segment < of_weights.size()) of_weights[segment] = true;
  }
  for (std::size_t i = 0; i < a.segments.size(); ++i) {
    stored_bytes += of_weights[i] ? a.segments[i].stored_size : 0;
    segments += of_weights[i] ? 1 : 0;
  }
  report += fmt::format("\nweights: {} states, {}", p.states.size(), human_bytes(total));
  if (!a.segments.empty())
    report += fmt::format(" in {} segments ({} in the file)", segments, human_bytes(stored_bytes));
  report += "\n";
  std::vector<std::size_t> order(p.states.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, [&](std::size_t x, std::size_t y) {
    return storage_bytes(p, p.states[x]) > storage_bytes(p, p.states[y]);
  });
  TextTable table({{"", TextTable::Align::right}, {""}, {""}, {""}, {""}});
  for (std::size_t i : std::span(order).first(std::min(limit, order.size()))) {
    const State& s = p.states[i];
    std::string notes = s.is_mutable ? "mutable" : "";
    const auto add_note = [&](const std::string& note) { notes += (notes.empty() ? "" : ", ") + note; };
    if (s.tied >= 0 && static_cast<std::size_t>(s.tied) < p.states.size()) {
      add_note("tied to " + escape_name(p.states[static_cast<std::size_t>(s.tied)].name));
    }
    const std::int32_t segment = s.storage < a.segment_of.size() ? a.segment_of[s.storage] : -1;
    if (segment >= 0 && static_cast<std::size_t>(segment) < a.segments.size() &&
        a.segments[static_cast<std::size_t>(segment)].compressed) {
      add_note("zstd " + human_bytes(a.segments[static_cast<std::size_t>(segment)].stored_size));
    }
    table.add_row({"  " + human_bytes(storage_bytes(p, s)), kind_text(s.kind), escape_name(s.name),
                   escape_name(text_of(s.type, p.pool)), notes});
  }
  report += table.str();
  if (order.size() > limit) report += fmt::format("  ... {} more\n", order.size() - limit);
}

void add_packings(std::string& report, const Program& p) {
  if (p.packings.empty()) return;
  std::uint64_t bytes = 0;
  for (const Packing& k : p.packings) bytes += p.storages[k.packed].size;
  report += fmt::format(
      "\npacked weights: {}, {}; runs use them in place of the weights ('tern validate --deep' compares them)\n",
      p.packings.size(), human_bytes(bytes));
}

void add_files(std::string& report, const ReadArchive& a) {
  const Program& p = *a.program;
  if (p.files.empty()) return;
  report += "\nfiles\n";
  TextTable table({{"", TextTable::Align::right}, {""}, {""}});
  for (const AttachedFile& f : p.files) {
    std::string notes;
    const auto segment = static_cast<std::size_t>(a.segment_of[f.storage]);
    if (segment < a.segments.size() && a.segments[segment].compressed)
      notes = "zstd " + human_bytes(a.segments[segment].stored_size);
    table.add_row({"  " + human_bytes(p.storages[f.storage].size), f.name, notes});
  }
  report += table.str();
}

void add_kernels(std::string& report, const Program& p) {
  if (p.kernels.empty()) return;
  struct Target {
    std::size_t kernels = 0;
    std::uint64_t bytes = 0;
    std::map<std::string, std::size_t> counts;  ///< counts by name
  };
  std::map<std::string, Target> targets;
  std::uint64_t bytes = 0;
  for (const DeviceKernel& k : p.kernels) {
    Target& t = targets[escape_name(k.target)];
    ++t.kernels;
    ++t.counts[escape_name(k.name)];
    t.bytes += p.storages[k.storage].size;
    bytes += p.storages[k.storage].size;
  }
  report += fmt::format("\nnative code: {} kernels of devices, {}\n", p.kernels.size(), human_bytes(bytes));
  for (const auto& [name, t] : targets) {
    std::string line;
    for (const auto& [kernel, count] : t.counts)
      line += fmt::format("{}{} x {}", line.empty() ? "" : ", ", count, kernel);
    report += fmt::format("  {}: {} kernels, {}: {}\n", name, t.kernels, human_bytes(t.bytes), line);
  }
}

/// "  by winograd", if a tuning has this entry.
std::string algorithm_text(const Program& p, std::size_t function, std::size_t node) {
  constexpr std::size_t kMaxShownTunings = 16;  // a hostile archive may have any number of tunings
  std::string tuning_text;
  for (const Tuning& t : std::span(p.tunings).first(std::min(kMaxShownTunings, p.tunings.size()))) {
    const auto node_position = [](const Tuning::Choice& c) {
      return std::pair<std::size_t, std::size_t>(c.function, c.node);
    };
    const auto found = std::ranges::lower_bound(t.choices, std::pair(function, node), {}, node_position);
    if (found != t.choices.end() && node_position(*found) == std::pair(function, node))
      tuning_text += "  by " + escape_name(found->algorithm);
  }
  return tuning_text;
}

void add_tunings(std::string& report, const Program& p) {
  for (const Tuning& t : p.tunings) {
    std::map<std::string, std::size_t> counts;
    for (const Tuning::Choice& c : t.choices)
      ++counts[op_text(p.functions[c.function].nodes[c.node].op) + " by " + c.algorithm];
    std::string line;
    for (const auto& [what, count] : counts)
      line += fmt::format("{}{} x {}", line.empty() ? "" : ", ", count, escape_name(what));
    report += fmt::format("\ntuned for {}, {} thread{}: {}\n", escape_name(t.processor), t.threads,
                          t.threads == 1 ? "" : "s", line);
  }
}

void add_ops(std::string& report, const Program& p) {
  std::string line;
  for (const auto& [name, count] : count_ops(p))
    line += fmt::format("{}{} x {}", line.empty() ? "" : ", ", count, name);
  if (!line.empty()) report += "\nops: " + line + "\n";
}

void add_origins(std::string& report, const Program& p) {
  std::map<std::string, std::size_t> operators, annotations;
  std::size_t with_origin = 0;
  for (const Function& f : p.functions) {
    for (const Node& n : f.nodes) {
      if (n.origin >= 0 && static_cast<std::size_t>(n.origin) < p.origins.size()) {
        ++with_origin;
        ++operators[p.origins[static_cast<std::size_t>(n.origin)].op];
      }
      const std::string notes = annotations_text(n);
      if (!notes.empty()) ++annotations[notes];
    }
  }
  std::string line;
  std::size_t shown_count = 0;
  for (const auto& [op, count] : operators) {
    if (++shown_count <= 40 && !op.empty())
      line += fmt::format("{}{} x {}", line.empty() ? "" : ", ", count, escape_name(op));
  }
  if (!line.empty())
    report += fmt::format("\norigins of {} nodes: {}{}\n", with_origin, line, shown_count > 40 ? ", ..." : "");
  if (!annotations.empty()) report += "\nannotations\n";
  for (const auto& [notes, count] : annotations) report += fmt::format("  [{}] on {} nodes\n", notes, count);
}

}  // namespace

std::string inspect_text(const std::string& path, const ReadArchive& a, const std::vector<Finding>& findings,
                         const InspectOptions& options) {
  const std::string kind = options.imported ? "PyTorch program (.pt2), imported"
                                            : fmt::format("Tern archive {}.{}, index of {}", a.prologue.major,
                                                          a.prologue.minor, human_bytes(a.prologue.index_size));
  std::string report = fmt::format("{}: {}, {}\n", escape_name(path), human_bytes(a.file->bytes().size()), kind);
  if (a.program != nullptr) {
    for (const auto& [key, value] : a.program->metadata) {
      if (value.empty()) continue;  // a mark
      report += fmt::format("{}: {}\n", escape_name(key), escape_name(value));
    }
  }
  if (!findings.empty()) {
    report += fmt::format("\n{} finding{}; 'tern validate' lists them. The first:\n  {}\n", findings.size(),
                          findings.size() == 1 ? "" : "s", escape_message(describe(findings.front())));
  }
  if (a.stage == ReadStage::program) {
    const Program& p = *a.program;
    for (std::size_t i = 0; i < p.functions.size(); ++i) {
      report += "\n";
      add_function(report, p, i);
      if (!options.nodes) continue;
      for (std::size_t k = 0; k < p.functions[i].nodes.size(); ++k)
        report += "    " + node_text(p, p.functions[i], p.functions[i].nodes[k]) + algorithm_text(p, i, k) + "\n";
    }
    add_symbols(report, p);
    if (findings.empty()) {
      const auto sizes = parse_sizes(options.sizes, p, size_names(p));
      add_cost(report, p, cost_of(a.program, last_sizes(sizes)));
    }
  }
  if (a.program != nullptr) {
    add_weights(report, a, options.weights);
    add_packings(report, *a.program);
    add_files(report, a);
    add_kernels(report, *a.program);
    add_tunings(report, *a.program);
    add_ops(report, *a.program);
    add_origins(report, *a.program);
  }
  if (a.stage == ReadStage::program && findings.empty()) {
    const std::string widened = widened_text(widened_by_nodes(*a.program));
    if (!widened.empty()) report += "\n" + widened;
  }
  return report;
}

}  // namespace tern
