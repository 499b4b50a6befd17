#include "tools/verify/expected.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <charconv>
#include <optional>

#include "tools/files/any.h"
#include "tools/names.h"
#include "tools/text.h"

namespace tern {
namespace {

/// The number after the prefix; empty for text of another form.
std::optional<std::size_t> number_after_expected(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix) || text.size() == prefix.size()) return {};
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + prefix.size(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

std::size_t take_call(std::string_view& name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return 0;
  const auto call = number_after_expected(name.substr(0, dot), "call");
  if (call) name.remove_prefix(dot + 1);
  return call.value_or(0);
}

/// Empty for a tensor allowed beside results.
std::string key_of(std::string_view name, const Function& f, const std::string& path) {
  for (std::size_t i = 0; i < f.outputs.size(); ++i) {
    if (f.outputs[i].name == name) return fmt::format("out{}", i);
  }
  if (const auto k = number_after_expected(name, "out"); k && *k < f.outputs.size()) return std::string(name);
  if (number_after_expected(name, "mut")) return std::string(name);
  if (number_after_expected(name, "in") || number_after_expected(name, "grad")) return {};
  std::vector<std::string> names;
  for (const FunctionInput& input : f.inputs) {
    if (input.kind == FunctionInput::Kind::user && input.name == name) return {};
  }
  for (const FunctionOutput& output : f.outputs) names.push_back(output.name);
  fail(ErrorCode::invalid_argument,
       fmt::format("--expected {}: {}", escape_name(path), unknown_name("output", name, std::move(names))));
}

}  // namespace

Expected read_expected(const std::string& path, const Function& f, std::size_t calls) {
  Expected e;
  bool unnamed = false;
  e.title = path;
  e.file = read_tensors(path, &unnamed);
  for (const auto& [name, tensor] : e.file.tensors) {
    std::string_view remaining = name;
    const std::size_t call = take_call(remaining);
    const std::string key = unnamed && f.outputs.size() == 1 ? "out0" : key_of(remaining, f, path);
    if (key.empty()) continue;
    if (call >= calls)
      fail(ErrorCode::invalid_argument,
           fmt::format("--expected {}: tensor '{}' is of call {}, but the inputs are those of {} call{}",
                       escape_name(path), escape_name(name), call, calls, calls == 1 ? "" : "s"));
    const void* data = tensor.data.data();
    if (!e.tensors.emplace(std::pair{call, key}, Tensor::borrow(data, tensor.dtype, tensor.sizes)).second)
      fail(ErrorCode::invalid_argument, fmt::format("--expected {}: result '{}' of call {} occurs twice",
                                                    escape_name(path), escape_name(remaining), call));
  }
  if (e.tensors.empty())
    fail(ErrorCode::invalid_argument,
         fmt::format("--expected {}: the file has no result; name them out0, out1, ... or as the outputs",
                     escape_name(path)));
  return e;
}

}  // namespace tern
