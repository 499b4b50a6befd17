// tern run: runs a function of an archive (or a .pt2) on tensors from files or on random tensors.
#include <fmt/format.h>
#include <tern/collective.h>
#include <tern/graph.h>
#include <tern/kernels.h>
#include <tern/tern.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "dtypes/convert.h"
#include "tools/bounds.h"
#include "tools/calls.h"
#include "tools/command.h"
#include "tools/files/any.h"
#include "tools/groups.h"
#include "tools/inputs.h"
#include "tools/json_text.h"
#include "tools/same_file.h"
#include "tools/subgroups.h"
#include "tools/text.h"
#include "tools/trace/options.h"
#include "tools/widened_text.h"

namespace tern {
namespace {

using Json = nlohmann::ordered_json;

struct RunArguments {
  std::string model, function, output, format, group;
  double group_timeout = 600;
  std::vector<std::string> groups;
  TraceChoice trace;
  InputChoice inputs;
  DeviceChoice device;
  bool json = false, graph = false, verbose = false;
  int threads = 0, repeat = 1;
  double max_seconds = 0;
  std::int64_t max_iterations = 0;
  std::uint64_t max_memory = 0;
};

HostTensor to_host_results(const Tensor& t) {
  const auto* bytes = static_cast<const std::byte*>(t.data());
  return {t.dtype(), t.sizes(), std::vector<std::byte>(bytes, bytes + t.byte_size())};
}

/// "mean 0.1, from -3 to 4" over the finite values.
struct Summary {
  double min = INFINITY, max = -INFINITY, sum = 0;
  std::int64_t finite = 0, count = 0;
  double mean() const { return finite > 0 ? sum / static_cast<double>(finite) : 0; }
};
Summary summarize(const Tensor& t) {
  Summary s;
  s.count = t.numel();
  std::vector<double> values(static_cast<std::size_t>(s.count));
  convert(t.data(), t.dtype(), values.data(), DType::f64, s.count);
  for (double v : values) {
    if (!std::isfinite(v)) continue;
    ++s.finite;
    s.min = std::min(s.min, v);
    s.max = std::max(s.max, v);
    s.sum += v;
  }
  return s;
}

/// Rounds to six significant digits.
Json number_json(double v) {
  return json_number(std::strtod(fmt::format("{:.6g}", v).c_str(), nullptr));
}

Json summary_json(const std::string& name, const Tensor& t) {
  if (t.dtype() == DType::invalid) return {{"name", name}, {"dtype", nullptr}};
  const Summary s = summarize(t);
  return {{"name", name},
          {"dtype", name_of(t.dtype())},
          {"sizes", t.sizes()},
          {"min", number_json(s.min)},
          {"max", number_json(s.max)},
          {"mean", number_json(s.mean())},
          {"not_finite", s.count - s.finite}};
}

void print_run_text(std::FILE* stream, const std::string& name, const Tensor& t) {
  constexpr std::int64_t kMaxValues = 16;
  if (t.dtype() == DType::invalid) {
    fmt::print(stream, "{}: None\n", escape_name(name));
    return;
  }
  const Summary s = summarize(t);
  fmt::print(stream, "{}: {}{}", escape_name(name), name_of(t.dtype()), sizes_text(t.sizes()));
  if (s.count > kMaxValues) {
    fmt::print(stream, ", from {:.6g} to {:.6g}, mean {:.6g}{}\n", s.min, s.max, s.mean(),
               s.finite < s.count ? fmt::format(", {} not finite", s.count - s.finite) : "");
    return;
  }
  std::vector<double> values(static_cast<std::size_t>(s.count));
  convert(t.data(), t.dtype(), values.data(), DType::f64, s.count);
  std::string text;
  for (double x : values) text += fmt::format("{}{:.6g}", text.empty() ? "" : ", ", x);
  fmt::print(stream, " = {}\n", text);
}

/// Writes the results of calls: summaries to a stream, tensors to the file.
class CmdRunResults {
 public:
  CmdRunResults(const FunctionInfo& f, const RunArguments& a, std::size_t calls)
      : f_(f), a_(a), stream_(a.output == "-" ? stderr : stdout), several_(calls > 1) {}
  void add(std::size_t call, const std::vector<Tensor>& outputs) {
    const std::string prefix = several_ ? fmt::format("call{}.", call) : std::string();
    Json list = Json::array();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const std::string& name = f_.outputs[i].name;
      if (a_.json) {
        list.push_back(summary_json(name, outputs[i]));
      } else {
        print_run_text(stream_, prefix + name, outputs[i]);
      }
      if (!a_.output.empty() && outputs[i].dtype() != DType::invalid)
        results_.tensors.emplace_back(prefix + name, to_host_results(outputs[i]));
    }
    if (a_.json) calls_.push_back({{"outputs", std::move(list)}});
  }
  void finish(const std::vector<WidenedNode>& widened) {
    if (a_.json) {
      Json document = several_ ? Json{{"calls", std::move(calls_)}} : calls_.empty() ? Json::object() : calls_.front();
      document["widened"] = widened_json(widened);
      fmt::print(stream_, "{}\n", json_text(document));
    } else {
      std::fputs(widened_text(widened).c_str(), stream_);
    }
    if (!a_.output.empty()) write_tensors(a_.output, results_, a_.format);
  }

 private:
  const FunctionInfo& f_;
  const RunArguments& a_;
  std::FILE* stream_;
  bool several_;
  Json calls_ = Json::array();
  NamedTensors results_;
};

/// Prints the origin of a device's kernels, and the names of kernels missing in the archive.
void print_kernels(const std::string& device) {
  const std::vector<LoadedKernel> kernels = loaded_kernels(device);
  std::map<std::string, std::size_t> compiled;
  std::size_t archived = 0;
  std::string refused;
  for (const LoadedKernel& k : kernels) {
    archived += k.from_archive;
    if (!k.from_archive) ++compiled[k.name];
    if (refused.empty()) refused = k.refused;
  }
  std::string names;
  for (const auto& [name, count] : compiled)
    names += fmt::format("{}{}{}", names.empty() ? ": " : ", ", name, count > 1 ? fmt::format(" x {}", count) : "");
  fmt::print(stderr, "{}: {} kernels, {} of the archive, {} compiled or of the cache{}\n", device, kernels.size(),
             archived, kernels.size() - archived, names);
  if (!refused.empty()) fmt::print(stderr, "{}\n", escape_name(refused, 4000));
}

/// Captures the only call and replays the graph; the results are the graph's.
const std::vector<Tensor>& run_graph(Graph& graph, Session& session, const std::string& function,
                                     const std::vector<Tensor>& inputs, int repeat) {
  graph.capture_begin(session.stream());
  const std::vector<Tensor>& outputs = session.run(function, inputs);
  graph.capture_end();
  for (int i = 0; i < repeat; ++i) graph.replay();
  session.stream().synchronize();
  return outputs;
}

int run_run(RunArguments& a) {
  // All ranks meet before loading: a missing rank is detected first.
  const std::shared_ptr<ProcessGroup> group = a.group.empty() ? nullptr : join_launched_group(a.group, a.group_timeout);
  if (group != nullptr) {
    for (std::string* name : {&a.model, &a.output, &a.trace.path}) put_rank(*name, group->rank());
    for (std::string& name : a.inputs.files) put_rank(name, group->rank());
    put_local_rank(a.device.name);
  }
  refuse_to_replace("--output", a.output, {a.model});
  refuse_to_replace("--trace", a.trace.path, {a.model});
  refuse_same_outputs(std::array<OutputOption, 2>{{{"--output", a.output}, {"--trace", a.trace.path}}});
  if (!a.output.empty()) check_output(a.output, a.format);
  const Model model = open_model(a.model);
  ChosenTrace trace(a.trace);  // starts now: importing a .pt2 file runs parts of the program
  const std::vector<FunctionInfo> functions = model.functions();
  const FunctionInfo& f = choose_function(functions, a.function);
  const std::vector<std::vector<Tensor>> calls = gather_calls(model, f.name, a.inputs);
  if (a.graph && calls.size() > 1)
    fail(ErrorCode::invalid_argument, "--graph replays one call; it does not go with a sequence of calls");
  PrepareOptions options;
  options.threads = a.threads;
  options.device = a.device.name;
  options.reproducible = a.device.reproducible;
  options.precision = precision_of(a.device);
  options.float32_nodes = a.device.kept_patterns;
  options.copy_weights = a.device.copy_weights;
  options.native_code = a.device.native_code;
  options.max_seconds = a.max_seconds;
  options.max_iterations = a.max_iterations;
  options.max_memory = a.max_memory;
  const PreparedModel prepared = model.prepare(options);
  Session session(prepared, Stream(a.device.name, a.device.share));
  session.set_seed(a.inputs.seed);
  if (group != nullptr) set_groups(session, *model.program(), group, groups_of(*model.program(), a.groups));
  CmdRunResults results(f, a, calls.size());
  Graph graph;
  if (a.graph) {
    results.add(0, run_graph(graph, session, f.name, calls[0], a.repeat));
  } else {
    for (int i = 1; i < a.repeat; ++i) {
      for (const std::vector<Tensor>& inputs : calls) session.run(f.name, inputs);
    }
    for (std::size_t i = 0; i < calls.size(); ++i) results.add(i, session.run(f.name, calls[i]));
  }
  trace.finish();
  results.finish(widened_by_plans(*prepared.impl()));
  if (a.verbose && a.device.name != "cpu") print_kernels(a.device.name);
  if (a.verbose && a.device.name == "cpu")
    fmt::print(stderr, "precision of products: {}\n", name_of(prepared.precision()));
  return 0;
}

}  // namespace

void add_run_command(Command app, CommandLine& line) {
  auto a = std::make_shared<RunArguments>();
  const Command c = app.add_subcommand("run", "Run a function on tensors from files, or on random ones");
  c.add_option("model", a->model, "A .tern archive, or a .pt2 file").required();
  add_input_options(c, a->inputs);
  add_sequence_option(c, a->inputs);
  c.add_option("-o,--output", a->output,
               "Write the results to this .safetensors, .npz or .npy file, or to standard output for -")
      .type_name("FILE");
  c.add_option("--format", a->format,
               "Format of the output: safetensors, npz or npy (default: by the file's name; safetensors for -)")
      .type_name("FORMAT");
  c.add_option("-f,--function", a->function, "The function to run, if there are several").type_name("NAME");
  add_threads_option(c, a->threads);
  require_range(c.add_option("--repeat", a->repeat,
                             "Run all calls this many times; mutable state carries over, and the last results are kept")
                    .capture_default_str(),
                bounds::kRepeat);
  require_range(
      c.add_option("--max-seconds", a->max_seconds, "Time limit for each run; 0: no limit").capture_default_str(),
      bounds::kLimitSeconds);
  require_range(c.add_option("--max-iterations", a->max_iterations, "Iteration limit for each while loop; 0: no limit")
                    .capture_default_str(),
                bounds::kIterations);
  c.add_option("--max-memory", a->max_memory,
               "Limit for the memory of intermediate values and scratch: bytes, or 512MB, 2GB; 0: no limit")
      .as_bytes()
      .type_name("BYTES")
      .capture_default_str();
  add_group_options(c, a->group, a->group_timeout);
  c.add_option(
       "--groups", a->groups,
       "The ranks of a group that the program names: tp=0,1/2,3 is ranks 0 and 1 for these two, and 2 and 3 for "
       "the others (default: what the archive says)")
      .type_name("NAME=RANKS[/RANKS...]");
  add_device_options(c, a->device);
  add_share_options(c, a->device);
  add_copy_weights_option(c, a->device);
  add_precision_option(c, a->device);
  c.add_flag("--graph", a->graph, "Capture the run as a graph and replay it");
  add_trace_options(c, a->trace);
  c.add_flag("--json", a->json, "Print sizes and ranges of the results as JSON");
  c.add_flag("--verbose", a->verbose,
             "Print on standard error the origin of the device's kernels, and the precision of the CPU's products");
  c.footer(
      "Examples:\n  tern run model.tern --input image.npy --output result.npz\n"
      "  tern run model.tern --random --size s0=4\n"
      "  tern run decoder.tern --sequence tokens/ --output logits.npz\n"
      "  tern run model.tern -i - -o - < inputs.npz > results.safetensors\n\n"
      "A tensor belongs to an input by its name, by its position (in0, in1, ... or NumPy's arr_0), or because it is "
      "the only tensor of an .npy file and the function has one input. Other tensors are an error, except for expected "
      "results of a conformance case (out0, mut0).\n"
      "Tensors named call0.NAME, call1.NAME, ... in a file are also a sequence, with one call each. The results of a "
      "sequence have such names, too.\n"
      "With --group each process that torchrun --no-python, mpirun or srun starts is a rank; in the names of files "
      "{rank} "
      "stands for its number, in that of a device {local_rank} for its number on its host.\n"
      "  torchrun --no-python --nproc-per-node 4 tern run mesh.tern --random --group gloo --groups tp=0,1/2,3 --groups "
      "dp=0,2/1,3\n"
      "With --output - the summary goes to standard error.");
  c.callback([a, &line] { line.status = run_run(*a); });
}

}  // namespace tern
