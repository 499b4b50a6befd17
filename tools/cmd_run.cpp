// tern run: runs a function of an archive (or a .pt2) on tensors from files, or on random ones.
#include <fmt/format.h>
#include <omp.h>
#include <tern/tern.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <random>

#include "dtypes/convert.h"
#include "exporter/importer.h"
#include "tools/command.h"
#include "tools/files/any.h"
#include "tools/text.h"

namespace tern {
namespace {

struct RunArguments {
  std::string model, function, output;
  std::vector<std::string> inputs;
  std::map<std::string, std::int64_t> sizes;
  std::vector<std::string> size_texts;
  bool random = false, json = false;
  std::uint64_t seed = 0;
  int threads = 0, repeat = 1;
};

Model open_model(const std::string& path) {
  if (path.ends_with(".pt2")) return Model(std::make_shared<const Program>(import_pt2(path)));
  return Model::open(path);
}

const FunctionInfo& choose(const std::vector<FunctionInfo>& functions, const std::string& name) {
  std::string names;
  for (const FunctionInfo& f : functions) {
    if (f.name == name || (name.empty() && (functions.size() == 1 || f.name == "forward"))) return f;
    names += (names.empty() ? "" : ", ") + escape_name(f.name);
  }
  fail(ErrorCode::invalid_argument,
       name.empty() ? fmt::format("say which function to run with --function: {}", names)
                    : fmt::format("there is no function '{}'; there is: {}", escape_name(name), names));
}

/// Tensors by name from NAME=FILE, or all tensors of FILE.
NamedTensors read_inputs(const std::vector<std::string>& texts) {
  NamedTensors all;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const bool named = equals != std::string::npos && !std::filesystem::exists(text);
    NamedTensors file = read_tensors(named ? text.substr(equals + 1) : text);
    if (named) {
      if (file.tensors.size() != 1) {
        fail(ErrorCode::invalid_argument,
             fmt::format("'{}' holds {} tensors; NAME=FILE takes a file of one", text, file.tensors.size()));
      }
      file.tensors[0].first = text.substr(0, equals);
    }
    std::ranges::move(file.tensors, std::back_inserter(all.tensors));
  }
  return all;
}

/// Normal numbers for floating types, small integers for the others: the same for the same seed.
Tensor random_tensor(const ValueInfo& info, const std::map<std::string, std::int64_t>& sizes,
                     std::mt19937_64& generator) {
  std::vector<std::int64_t> shape;
  for (const SizeInfo& s : info.sizes) {
    const auto given = sizes.find(s.text);
    if (!s.constant && given == sizes.end()) {
      fail(ErrorCode::invalid_argument, fmt::format("input '{}' has the size '{}'; give it with --size {}=N",
                                                    escape_name(info.name), s.text, s.text));
    }
    shape.push_back(s.constant ? s.value : given->second);
  }
  Tensor t(info.dtype, shape);
  const bool real = is_floating(info.dtype) || is_complex(info.dtype);
  std::vector<double> values(static_cast<std::size_t>(t.numel()));
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<int> small(0, info.dtype == DType::boolean ? 1 : 9);
  for (double& v : values) v = real ? normal(generator) : small(generator);
  convert(values.data(), DType::f64, t.data(), info.dtype, t.numel());
  return t;
}

std::vector<Tensor> gather_inputs(const FunctionInfo& f, const RunArguments& a, const NamedTensors& files) {
  std::vector<Tensor> inputs;
  std::mt19937_64 generator(a.seed);
  std::size_t position = 0;
  for (const ValueInfo& info : f.inputs) {
    if (!info.fixed.empty()) continue;
    const HostTensor* given = files.find(info.name);
    if (given == nullptr) given = files.find(fmt::format("in{}", position));
    if (given == nullptr && files.tensors.size() == 1 && f.inputs.size() == 1) given = &files.tensors[0].second;
    ++position;
    if (given != nullptr) {
      Tensor t(given->dtype, given->sizes);
      std::memcpy(t.data(), given->data.data(), std::min(given->data.size(), t.byte_size()));
      inputs.push_back(std::move(t));
    } else if (a.random) {
      inputs.push_back(random_tensor(info, a.sizes, generator));
    } else {
      std::string names;
      for (const auto& [name, tensor] : files.tensors) names += (names.empty() ? "" : ", ") + escape_name(name);
      fail(
          ErrorCode::invalid_argument,
          fmt::format("input '{}' is not given{}; give --input {}=FILE, a file with a tensor of that name, or --random",
                      escape_name(info.name), names.empty() ? "" : " (the files hold: " + names + ")",
                      escape_name(info.name)));
    }
  }
  return inputs;
}

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

void parse_sizes(RunArguments& a) {
  for (const std::string& text : a.size_texts) {
    const std::size_t equals = text.rfind('=');
    char* end = nullptr;
    const long long value = equals == std::string::npos ? -1 : std::strtoll(text.c_str() + equals + 1, &end, 10);
    if (value < 0 || end == nullptr || *end != 0)
      fail(ErrorCode::invalid_argument, fmt::format("--size takes NAME=NUMBER, not '{}'", escape_name(text)));
    a.sizes[text.substr(0, equals)] = value;
  }
}

int run_run(RunArguments& a) {
  parse_sizes(a);
  const Model model = open_model(a.model);
  const std::vector<FunctionInfo> functions = model.functions();
  const FunctionInfo& f = choose(functions, a.function);
  const std::vector<Tensor> inputs = gather_inputs(f, a, read_inputs(a.inputs));
  PrepareOptions options;
  options.threads = a.threads;
  Session session(model.prepare(options));
  session.set_seed(a.seed);
  const std::vector<Tensor>* outputs = nullptr;
  for (int i = 0; i < std::max(1, a.repeat); ++i) outputs = &session.run(f.name, inputs);
  if (!a.output.empty()) {
    NamedTensors named;
    for (std::size_t i = 0; i < outputs->size(); ++i) {
      if ((*outputs)[i].dtype() != DType::invalid)
        named.tensors.emplace_back(f.outputs[i].name, to_host((*outputs)[i]));
    }
    write_tensors(a.output, named);
  }
  print_outputs(f, *outputs, a.json);
  return 0;
}

}  // namespace

void add_run_command(CLI::App& app, CommandLine& line) {
  auto a = std::make_shared<RunArguments>();
  CLI::App* c = app.add_subcommand("run", "Run a function on tensors from files, or on random ones");
  c->add_option("model", a->model, "A .tern archive, or a .pt2 file")->required();
  c->add_option("-i,--input", a->inputs,
                "FILE with tensors named as the inputs (or in0, in1, ...), or NAME=FILE of one tensor (.npy, .npz, "
                ".safetensors)");
  c->add_option("-o,--output", a->output, "Write the results to this .safetensors, .npz or .npy file");
  c->add_option("-f,--function", a->function, "The function to run, if there are several");
  c->add_flag("--random", a->random, "Random values for inputs that are not given");
  c->add_option("--size", a->size_texts, "NAME=NUMBER: a symbolic size for --random");
  c->add_option("--seed", a->seed, "Of random inputs and of the program's random numbers")->capture_default_str();
  c->add_option("--threads", a->threads, "0: all cores")->capture_default_str();
  c->add_option("--repeat", a->repeat, "Run so many times, with state carried over; the last results count")
      ->capture_default_str();
  c->add_flag("--json", a->json, "Print the results' sizes and ranges as JSON");
  c->footer(
      "Example:\n  tern run model.tern --input image.npy --output result.npz\n  tern run model.tern --random --size "
      "s0=4");
  c->callback([a, &line] { line.status = run_run(*a); });
}

}  // namespace tern
