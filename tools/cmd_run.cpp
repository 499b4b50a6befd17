// tern run: runs a function of an archive (or a .pt2) on tensors from files, or on random ones.
#include <fmt/format.h>
#include <tern/graph.h>
#include <tern/kernels.h>
#include <tern/tern.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <map>

#include "dtypes/convert.h"
#include "tools/command.h"
#include "tools/files/any.h"
#include "tools/inputs.h"
#include "tools/text.h"

namespace tern {
namespace {

struct RunArguments {
  std::string model, function, output;
  InputChoice inputs;
  DeviceChoice device;
  bool json = false, graph = false, verbose = false;
  int threads = 0, repeat = 1;
  double max_seconds = 0;
  std::int64_t max_iterations = 0;
  std::uint64_t max_memory = 0;
};

HostTensor to_host(const Tensor& t) {
  const auto* bytes = static_cast<const std::byte*>(t.data());
  return {t.dtype(), t.sizes(), std::vector<std::byte>(bytes, bytes + t.byte_size())};
}

/// "mean 0.1, from -3 to 4" of the finite values.
struct Summary {
  double min = INFINITY, max = -INFINITY, sum = 0;
  std::int64_t finite = 0, count = 0;
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

std::string number(double v) {
  return std::isfinite(v) ? fmt::format("{:.6g}", v) : "null";
}

void print_outputs(const FunctionInfo& f, const std::vector<Tensor>& outputs, bool json) {
  if (json) std::fputs("{\"outputs\": [", stdout);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& t = outputs[i];
    const std::string& name = f.outputs[i].name;
    if (t.dtype() == DType::invalid) {
      if (json) {
        fmt::print("{}{{\"name\": \"{}\", \"dtype\": null}}", i > 0 ? ", " : "", json_escape(name));
      } else {
        fmt::print("{}: None\n", escape_name(name));
      }
      continue;
    }
    const Summary s = summarize(t);
    const double mean = s.finite > 0 ? s.sum / static_cast<double>(s.finite) : 0;
    if (json) {
      fmt::print(
          "{}{{\"name\": \"{}\", \"dtype\": \"{}\", \"sizes\": {}, \"min\": {}, \"max\": {}, \"mean\": {}, "
          "\"not_finite\": {}}}",
          i > 0 ? ", " : "", json_escape(name), name_of(t.dtype()), sizes_text(t.sizes()), number(s.min), number(s.max),
          number(mean), s.count - s.finite);
    } else if (s.count <= 16) {
      std::string values;
      std::vector<double> v(static_cast<std::size_t>(s.count));
      convert(t.data(), t.dtype(), v.data(), DType::f64, s.count);
      for (double x : v) values += fmt::format("{}{:.6g}", values.empty() ? "" : ", ", x);
      fmt::print("{}: {}{} = {}\n", escape_name(name), name_of(t.dtype()), sizes_text(t.sizes()), values);
    } else {
      fmt::print("{}: {}{}, from {:.6g} to {:.6g}, mean {:.6g}{}\n", escape_name(name), name_of(t.dtype()),
                 sizes_text(t.sizes()), s.min, s.max, mean,
                 s.finite < s.count ? fmt::format(", {} not finite", s.count - s.finite) : "");
    }
  }
  if (json) std::fputs("]}\n", stdout);
}

/// Where the kernels of a device came from; the names of those that the archive did not bring.
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

int run_run(RunArguments& a) {
  const Model model = open_model(a.model);
  const std::vector<FunctionInfo> functions = model.functions();
  const FunctionInfo& f = choose_function(functions, a.function);
  const std::vector<Tensor> inputs = gather_inputs(f, a.inputs);
  PrepareOptions options;
  options.threads = a.threads;
  options.device = a.device.name;
  options.reproducible = a.device.reproducible;
  options.copy_weights = a.device.copy_weights;
  options.native_code = a.device.native_code;
  options.max_seconds = a.max_seconds;
  options.max_iterations = a.max_iterations;
  options.max_memory = a.max_memory;
  Session session(model.prepare(options));
  session.set_seed(a.inputs.seed);
  Graph graph;
  if (a.graph) graph.capture_begin(session.stream());
  const std::vector<Tensor>* outputs = &session.run(f.name, inputs);
  if (a.graph) {
    graph.capture_end();
    for (int i = 0; i < std::max(1, a.repeat); ++i) graph.replay();
    session.stream().synchronize();
  } else {
    for (int i = 1; i < a.repeat; ++i) outputs = &session.run(f.name, inputs);
  }
  if (!a.output.empty()) {
    NamedTensors named;
    for (std::size_t i = 0; i < outputs->size(); ++i) {
      if ((*outputs)[i].dtype() != DType::invalid)
        named.tensors.emplace_back(f.outputs[i].name, to_host((*outputs)[i]));
    }
    write_tensors(a.output, named);
  }
  print_outputs(f, *outputs, a.json);
  if (a.verbose && a.device.name != "cpu") print_kernels(a.device.name);
  return 0;
}

}  // namespace

void add_run_command(CLI::App& app, CommandLine& line) {
  auto a = std::make_shared<RunArguments>();
  CLI::App* c = app.add_subcommand("run", "Run a function on tensors from files, or on random ones");
  c->add_option("model", a->model, "A .tern archive, or a .pt2 file")->required();
  add_input_options(c, a->inputs);
  c->add_option("-o,--output", a->output, "Write the results to this .safetensors, .npz or .npy file");
  c->add_option("-f,--function", a->function, "The function to run, if there are several");
  c->add_option("--threads", a->threads, "0: all cores")->capture_default_str();
  c->add_option("--repeat", a->repeat, "Run so many times, with state carried over; the last results count")
      ->capture_default_str();
  c->add_option("--max-seconds", a->max_seconds, "Time limit for each run; 0: no limit")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  c->add_option("--max-iterations", a->max_iterations, "Iteration limit for each while loop; 0: no limit")
      ->check(CLI::Range(std::int64_t{0}, std::numeric_limits<std::int64_t>::max()))
      ->capture_default_str();
  c->add_option("--max-memory", a->max_memory,
                "Limit for the memory of intermediate values and scratch: bytes, or 512MB, 2GB; 0: no limit")
      ->transform(CLI::AsSizeValue(true))
      ->capture_default_str();
  add_device_options(*c, a->device);
  add_copy_weights_option(*c, a->device);
  c->add_flag("--graph", a->graph, "Capture the run as a graph, and replay that");
  c->add_flag("--json", a->json, "Print the results' sizes and ranges as JSON");
  c->add_flag("--verbose", a->verbose, "Say where the kernels of the device came from, on standard error");
  c->footer(
      "Example:\n  tern run model.tern --input image.npy --output result.npz\n  tern run model.tern --random --size "
      "s0=4");
  c->callback([a, &line] { line.status = run_run(*a); });
}

}  // namespace tern
