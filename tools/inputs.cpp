#include "tools/inputs.h"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <random>

#include "dtypes/convert.h"
#include "exporter/importer.h"
#include "tools/files/any.h"
#include "tools/text.h"

namespace tern {
namespace {

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

std::map<std::string, std::int64_t> parse_sizes(const std::vector<std::string>& texts) {
  std::map<std::string, std::int64_t> sizes;
  for (const std::string& text : texts) {
    const std::size_t equals = text.rfind('=');
    char* end = nullptr;
    const long long value = equals == std::string::npos ? -1 : std::strtoll(text.c_str() + equals + 1, &end, 10);
    if (value < 0 || end == nullptr || *end != 0)
      fail(ErrorCode::invalid_argument, fmt::format("--size takes NAME=NUMBER, not '{}'", escape_name(text)));
    sizes[text.substr(0, equals)] = value;
  }
  return sizes;
}

}  // namespace

void add_input_options(CLI::App* command, InputChoice& choice) {
  command->add_option("-i,--input,--inputs", choice.files,
                      "FILE with tensors named as the inputs (or in0, in1, ...), or NAME=FILE of one tensor (.npy, "
                      ".npz, .safetensors)");
  command->add_flag("--random", choice.random, "Random values for inputs that are not given");
  command->add_option("--size", choice.size_texts, "NAME=NUMBER: a symbolic size for --random");
  command->add_option("--seed", choice.seed, "Of random inputs and of the program's random numbers")
      ->capture_default_str();
}

Model open_model(const std::string& path) {
  if (path.ends_with(".pt2")) return Model(std::make_shared<const Program>(import_pt2(path)));
  return Model::open(path);
}

const FunctionInfo& choose_function(const std::vector<FunctionInfo>& functions, const std::string& name) {
  std::string names;
  for (const FunctionInfo& f : functions) {
    if (f.name == name || (name.empty() && (functions.size() == 1 || f.name == "forward"))) return f;
    names += (names.empty() ? "" : ", ") + escape_name(f.name);
  }
  fail(ErrorCode::invalid_argument,
       name.empty() ? fmt::format("say which function to run with --function: {}", names)
                    : fmt::format("there is no function '{}'; there is: {}", escape_name(name), names));
}

std::vector<Tensor> gather_inputs(const FunctionInfo& f, const InputChoice& choice) {
  const NamedTensors files = read_inputs(choice.files);
  const auto sizes = parse_sizes(choice.size_texts);
  std::vector<Tensor> inputs;
  std::mt19937_64 generator(choice.seed);
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
    } else if (choice.random) {
      inputs.push_back(random_tensor(info, sizes, generator));
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

}  // namespace tern
