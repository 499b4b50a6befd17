#include "tools/calls.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <random>
#include <system_error>

#include "dtypes/convert.h"
#include "tools/files/any.h"
#include "tools/names.h"
#include "tools/numbered_order.h"
#include "tools/sizes.h"
#include "tools/text.h"

namespace tern {
namespace {

constexpr std::int64_t kMaxCalls = 100'000;
constexpr std::int64_t kEveryCall = -1;

/// A tensor from a file, with the user's name.
struct FileTensor {
  std::string name, file;
  bool unnamed = false;        ///< an .npy file: the name is the file's
  bool is_user_named = false;  ///< NAME=FILE
  std::int64_t call = kEveryCall;
  HostTensor tensor;
};

/// An input passed by the caller.
struct CallerInput {
  std::string name;
  const TensorType* type;
};

std::vector<CallerInput> caller_inputs(const Function& f) {
  std::vector<CallerInput> inputs;
  for (const FunctionInput& input : f.inputs) {
    if (input.kind == FunctionInput::Kind::user)
      inputs.push_back({input.name, &f.values[static_cast<std::size_t>(input.value)].type});
  }
  return inputs;
}

/// The number after the prefix, if it extends to `end`.
std::optional<std::int64_t> number_after(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return {};
  text.remove_prefix(prefix.size());
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return {};
  return value;
}

/// Strips "callC." from the name.
void take_call(FileTensor& g) {
  const std::size_t dot = g.name.find('.');
  if (dot == std::string::npos) return;
  const auto call = number_after(std::string_view(g.name).substr(0, dot), "call");
  if (!call) return;
  if (*call >= kMaxCalls)
    fail(ErrorCode::invalid_argument,
         fmt::format("{}: '{}': at most {} calls", g.file, escape_name(g.name), kMaxCalls));
  g.call = *call;
  g.name = g.name.substr(dot + 1);
}

/// True for the expected results of a conformance case: "out0", "mut0", "grad0".
bool is_expected_result(std::string_view name) {
  return number_after(name, "out") || number_after(name, "mut") || number_after(name, "grad");
}

void read_file(const std::string& text, std::int64_t call, std::vector<FileTensor>& tensors) {
  std::error_code none;
  const std::size_t equals = text.find('=');
  const bool has_name = equals != std::string::npos && equals > 0 && !std::filesystem::exists(text, none);
  const std::string path = has_name ? text.substr(equals + 1) : text;
  bool unnamed = false;
  NamedTensors file = read_tensors(path, &unnamed);
  if (has_name && file.tensors.size() != 1) {
    fail(ErrorCode::invalid_argument,
         fmt::format("'{}' has {} tensors; NAME=FILE takes a file with one", escape_name(path), file.tensors.size()));
  }
  for (auto& [name, tensor] : file.tensors) {
    FileTensor g{
        has_name ? text.substr(0, equals) : name, escape_name(path), unnamed, has_name, call, std::move(tensor)};
    if (call == kEveryCall) take_call(g);
    tensors.push_back(std::move(g));
  }
}

/// True if the command has --random, --cast and --sequence beside --input.
bool has_all_options(const InputChoice& choice) {
  return choice.option == "--input";
}

/// The files of --sequence; a folder's files in the order of their names (call2 before call10).
std::vector<std::string> sequence_files(const InputChoice& choice) {
  std::vector<std::string> files;
  for (const std::string& path : choice.sequence) {
    std::error_code none;
    if (!std::filesystem::is_directory(path, none)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> folder_files;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      if (is_tensor_file(entry.path().string())) folder_files.push_back(entry.path().string());
    }
    if (folder_files.empty()) {
      fail(ErrorCode::invalid_argument,
           fmt::format("{}: no .safetensors, .npz or .npy file is in the folder '{}'",
                       has_all_options(choice) ? "--sequence" : choice.option, escape_name(path)));
    }
    std::ranges::sort(folder_files, is_numbered_before);
    files.insert(files.end(), folder_files.begin(), folder_files.end());
  }
  return files;
}

std::vector<std::string> names_of(const std::vector<CallerInput>& inputs) {
  std::vector<std::string> names;
  names.reserve(inputs.size());
  for (const CallerInput& w : inputs) names.push_back(w.name);
  return names;
}

/// The position of the tensor's input; empty for expected results and skipped tensors.
std::optional<std::size_t> position_of(const FileTensor& g, const std::vector<CallerInput>& inputs,
                                       const InputChoice& choice) {
  const auto found = std::ranges::find(inputs, g.name, &CallerInput::name);
  if (found != inputs.end()) return static_cast<std::size_t>(found - inputs.begin());
  for (const char* prefix : {"in", "arr_"}) {
    const auto position = number_after(g.name, prefix);
    if (position && static_cast<std::size_t>(*position) < inputs.size()) return static_cast<std::size_t>(*position);
  }
  if (g.unnamed && !g.is_user_named && inputs.size() == 1) return 0;
  if (!g.is_user_named && (choice.pass_over || is_expected_result(g.name))) return {};
  const std::string reason = unknown_name("input", g.name, names_of(inputs));
  fail(ErrorCode::invalid_argument, g.unnamed && !g.is_user_named
                                        ? fmt::format("{}: {}; give {} NAME={}", g.file, reason, choice.option, g.file)
                                        : fmt::format("{}: {}", g.file, reason));
}

Tensor to_input(const FileTensor& g, const CallerInput& input, const InputChoice& choice) {
  const DType file_dtype = g.tensor.dtype, input_dtype = input.type->dtype;
  if (file_dtype != input_dtype && !choice.cast) {
    fail(ErrorCode::invalid_argument,
         fmt::format("input '{}' is {}, but {} holds {}; {}", escape_name(input.name), name_of(input_dtype), g.file,
                     name_of(file_dtype),
                     has_all_options(choice) ? "--cast converts it" : "save it in the input's type"));
  }
  if (is_complex(file_dtype) && !is_complex(input_dtype)) {
    fail(ErrorCode::invalid_argument,
         fmt::format("input '{}' is {}, but {} has {}: --cast does not drop imaginary parts", escape_name(input.name),
                     name_of(input_dtype), g.file, name_of(file_dtype)));
  }
  Tensor t(input_dtype, g.tensor.sizes);
  if (file_dtype != input_dtype) {
    convert(g.tensor.data.data(), file_dtype, t.data(), input_dtype, t.numel());
  } else if (!g.tensor.data.empty()) {
    std::memcpy(t.data(), g.tensor.data.data(), std::min(g.tensor.data.size(), t.byte_size()));
  }
  return t;
}

/// Normal numbers for floating types, small integers for other types; the same seed gives the same numbers.
Tensor random_tensor(const Program& program, const CallerInput& input, const std::map<std::string, std::int64_t>& sizes,
                     const std::vector<std::int64_t>& expressions, std::mt19937_64& generator) {
  std::vector<std::int64_t> shape;
  for (Dim d : input.type->shape) {
    const std::int64_t size = d.is_const() ? d.value() : expressions[d.index()];
    if (size == kUndefined) {
      Function single_input;
      single_input.values.push_back({*input.type});
      single_input.inputs.push_back({FunctionInput::Kind::user, 0, 0, input.name, {}});
      std::string missing;
      for (const std::string& name : size_names(program, single_input)) {
        if (!sizes.contains(name)) missing += fmt::format(" --size {}=N", escape_name(name));
      }
      fail(ErrorCode::invalid_argument,
           fmt::format("input '{}' has the size '{}'; give it with{}", escape_name(input.name),
                       escape_name(program.pool.text(d)), missing));
    }
    shape.push_back(size);
  }
  Tensor t(input.type->dtype, shape);
  const bool real = is_floating(t.dtype()) || is_complex(t.dtype());
  std::vector<double> values(static_cast<std::size_t>(t.numel()));
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<int> small(0, t.dtype() == DType::boolean ? 1 : 9);
  for (double& v : values) v = real ? normal(generator) : small(generator);
  convert(values.data(), DType::f64, t.data(), t.dtype(), t.numel());
  return t;
}

using Slots = std::vector<const FileTensor*>;  // a tensor per input

/// Assigns a tensor to each input of each call; null for inputs without a file.
std::vector<Slots> assign(const std::vector<FileTensor>& tensors, const std::vector<CallerInput>& inputs,
                          std::int64_t calls, const InputChoice& choice) {
  Slots shared(inputs.size());
  std::vector<Slots> slots(static_cast<std::size_t>(calls), shared);
  for (const FileTensor& g : tensors) {
    const auto position = position_of(g, inputs, choice);
    if (!position) continue;
    const FileTensor*& slot =
        g.call == kEveryCall ? shared[*position] : slots[static_cast<std::size_t>(g.call)][*position];
    if (slot != nullptr) {
      fail(ErrorCode::invalid_argument, fmt::format("input '{}' is given twice: by {} and {}",
                                                    escape_name(inputs[*position].name), slot->file, g.file));
    }
    slot = &g;
  }
  for (Slots& call : slots) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (call[i] == nullptr) call[i] = shared[i];
    }
  }
  return slots;
}

/// Adds the sizes of tensors from files, for dimensions consisting of a single symbol.
void add_sizes_of_files(const Program& p, const Slots& slots, const std::vector<CallerInput>& inputs,
                        std::map<std::string, std::int64_t>& sizes) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Dims& shape = inputs[i].type->shape;
    if (slots[i] == nullptr || slots[i]->tensor.sizes.size() != shape.size()) continue;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const int symbol = p.pool.symbol_of(shape[d]);
      if (symbol >= 0)
        sizes.emplace(p.pool.symbols()[static_cast<std::size_t>(symbol)].name, slots[i]->tensor.sizes[d]);
    }
  }
}

[[noreturn]] void fail_missing(const CallerInput& input, const std::vector<FileTensor>& tensors, std::size_t call,
                               const InputChoice& choice) {
  constexpr std::size_t kMaxListed = 20;
  std::string names;
  for (std::size_t i = 0; i < std::min(tensors.size(), kMaxListed); ++i)
    names += (i == 0 ? "" : ", ") + escape_name(tensors[i].name);
  if (tensors.size() > kMaxListed) names += ", ...";
  const std::string name = escape_name(input.name);
  fail(ErrorCode::invalid_argument,
       fmt::format("{}input '{}' is not given{}; give {} {}=FILE{} a file with a tensor of that name{}",
                   call > 0 ? fmt::format("call {}: ", call) : "", name,
                   names.empty() ? "" : " (the files have: " + names + ")", choice.option, name,
                   has_all_options(choice) ? "," : " or", has_all_options(choice) ? ", or --random" : ""));
}

}  // namespace

std::vector<std::vector<Tensor>> gather_calls(const Model& model, const std::string& function,
                                              const InputChoice& choice) {
  const Program& program = *model.program();
  const auto f =
      std::ranges::find_if(program.functions, [&](const Function& g) { return g.entry && g.name == function; });
  const std::vector<CallerInput> inputs = caller_inputs(*f);
  const auto sizes = last_sizes(parse_sizes(choice.size_texts, program, size_names(program, *f)));
  std::vector<FileTensor> tensors;
  for (const std::string& text : choice.files) read_file(text, kEveryCall, tensors);
  std::int64_t calls = 0;
  for (const FileTensor& g : tensors) calls = std::max(calls, g.call + 1);
  if (calls > 0 && !choice.sequence.empty())
    fail(ErrorCode::invalid_argument,
         "--sequence and tensors named callC.NAME both define the inputs of each call: give only one");
  for (const std::string& file : sequence_files(choice)) read_file(file, calls++, tensors);
  std::vector<std::vector<Tensor>> result;
  std::mt19937_64 generator(choice.seed);
  for (const Slots& slots : assign(tensors, inputs, std::max<std::int64_t>(calls, 1), choice)) {
    auto all_sizes = sizes;
    add_sizes_of_files(program, slots, inputs, all_sizes);
    const std::vector<std::int64_t> expressions = evaluate_sizes(program, all_sizes);
    std::vector<Tensor>& call = result.emplace_back();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (slots[i] != nullptr) {
        call.push_back(to_input(*slots[i], inputs[i], choice));
      } else if (choice.random) {
        call.push_back(random_tensor(program, inputs[i], all_sizes, expressions, generator));
      } else {
        fail_missing(inputs[i], tensors, result.size() - 1, choice);
      }
    }
  }
  return result;
}

std::vector<Tensor> one_call(const Model& model, const std::string& function, const InputChoice& choice) {
  std::vector<std::vector<Tensor>> calls = gather_calls(model, function, choice);
  if (calls.size() != 1)
    fail(ErrorCode::invalid_argument,
         fmt::format("the files have the inputs of {} calls; give those of one", calls.size()));
  return std::move(calls.front());
}

}  // namespace tern
