// Checks the tensors of a run and orders them by the function's inputs.
#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "runtime/device_tensor.h"
#include "runtime/devices/device.h"
#include "runtime/session.h"
#include "runtime/tensor_view.h"

namespace tern {

namespace {

void check_place(const Device& device, const std::string& name, const Tensor& t) {
  if (TensorMemory::is_on_host(t) || &TensorMemory::device(t) == &device) return;
  fail(ErrorCode::invalid_argument,
       fmt::format("input '{0}' is on {1}, but the session runs on {2}; pass it as to(\"{2}\")", name, t.device(),
                   device.name()));
}

}  // namespace

void fill_inputs(const PreparedProgram& prepared, const Function& f, std::span<const Tensor> arguments,
                 std::vector<TensorView>& views) {
  const Program& program = *prepared.program;
  views.resize(f.inputs.size());
  const auto wanted =
      static_cast<std::size_t>(std::ranges::count(f.inputs, FunctionInput::Kind::user, &FunctionInput::kind));
  if (arguments.size() != wanted) {
    std::string names;
    for (const FunctionInput& in : f.inputs) {
      if (in.kind == FunctionInput::Kind::user) names += (names.empty() ? "" : ", ") + in.name;
    }
    fail(ErrorCode::invalid_argument,
         fmt::format("'{}' takes {} inputs ({}), but {} were given", f.name, wanted, names, arguments.size()));
  }
  std::size_t k = 0;
  for (std::size_t i = 0; i < f.inputs.size(); ++i) {
    TensorView& v = views[i];
    v.data = nullptr;  // clears data of earlier runs
    if (f.inputs[i].kind != FunctionInput::Kind::user) continue;
    const Tensor& t = arguments[k++];
    if (f.inputs[i].value == kNoValue) continue;
    v.dtype = t.dtype();
    v.rank = static_cast<std::int32_t>(t.sizes().size());
    v.data = static_cast<std::byte*>(const_cast<void*>(t.data()));
    const TensorType& type = f.values[static_cast<std::size_t>(f.inputs[i].value)].type;
    if (t.dtype() != type.dtype || v.rank != type.rank()) {
      fail(ErrorCode::invalid_argument, fmt::format("input '{}' is {}, where the program takes {}", f.inputs[i].name,
                                                    text_of(t), text_of(type, program.pool)));
    }
    check_place(*prepared.device, f.inputs[i].name, t);
    if (!TensorMemory::is_on_host(t)) {
      v = tensor_view(t);
      continue;
    }
    if (!t.is_contiguous())
      fail(ErrorCode::invalid_argument,
           fmt::format("input '{}' is strided; a captured run takes contiguous inputs", f.inputs[i].name));
    std::ranges::copy(t.sizes(), v.sizes.begin());
    make_contiguous(v);
  }
  // Read-only tensors are rare, written inputs may be many.
  std::size_t position = 0;
  for (std::uint32_t i = 0; i < f.inputs.size(); ++i) {
    if (f.inputs[i].kind != FunctionInput::Kind::user || !arguments[position++].read_only()) continue;
    const bool written = std::ranges::any_of(
        f.writebacks, [i](const WriteBack& w) { return w.target == WriteBack::Target::input && w.index == i; });
    if (written)
      fail(ErrorCode::invalid_argument,
           fmt::format("the program writes input '{}' back, but it was given read-only", f.inputs[i].name));
  }
}

namespace {

/// Lists the named inputs of kind user: "'a', 'b'".
std::string list_inputs(const Function& f) {
  std::string names;
  for (const FunctionInput& in : f.inputs) {
    if (in.kind == FunctionInput::Kind::user) names += fmt::format("{}'{}'", names.empty() ? "" : ", ", in.name);
  }
  return names;
}

}  // namespace

std::vector<Tensor> order_inputs(const Function& f, const std::vector<NamedTensor>& arguments) {
  for (const NamedTensor& g : arguments) {
    const auto is = [&](const FunctionInput& in) { return in.kind == FunctionInput::Kind::user && in.name == g.name; };
    if (std::ranges::count(arguments, g.name, &NamedTensor::name) > 1)
      fail(ErrorCode::invalid_argument, fmt::format("input '{}' was given twice", g.name));
    if (std::ranges::none_of(f.inputs, is))
      fail(ErrorCode::invalid_argument,
           fmt::format("'{}' has no input '{}'; it takes {}", f.name, g.name, list_inputs(f)));
  }
  std::vector<Tensor> ordered;
  for (const FunctionInput& in : f.inputs) {
    if (in.kind != FunctionInput::Kind::user) continue;
    const auto found = std::ranges::find(arguments, in.name, &NamedTensor::name);
    if (found == arguments.end())
      fail(ErrorCode::invalid_argument, fmt::format("input '{}' of '{}' was not given", in.name, f.name));
    ordered.push_back(found->tensor);
  }
  return ordered;
}

}  // namespace tern
