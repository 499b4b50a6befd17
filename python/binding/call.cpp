#include "python/binding/call.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <tern/error.h>

#include <algorithm>
#include <string>
#include <utility>

#include "python/binding/arrays.h"
#include "python/binding/tensor.h"

namespace nb = nanobind;

namespace tern::python {
namespace {

constexpr const char* kOut = "out";

std::string list_inputs(const FunctionEntry& entry) {
  std::string names;
  for (const FunctionEntry::Input& in : entry.inputs)
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", in.name);
  return names;
}

std::size_t place_of(const FunctionEntry& entry, std::string_view name) {
  const auto found = std::ranges::find(entry.inputs, name, &FunctionEntry::Input::name);
  if (found == entry.inputs.end())
    fail(ErrorCode::invalid_argument,
         fmt::format("'{}' has no input '{}'; it takes {}", entry.info->name, name, list_inputs(entry)));
  return static_cast<std::size_t>(found - entry.inputs.begin());
}

[[noreturn]] void refuse_count(const FunctionEntry& entry, std::size_t given) {
  fail(ErrorCode::invalid_argument, fmt::format("'{}' takes {} inputs ({}), but {} were given", entry.info->name,
                                                entry.inputs.size(), list_inputs(entry), given));
}

/// Positional arguments, then arguments by name.
std::vector<Tensor> flat_arguments(const FunctionEntry& entry, nb::handle args, nb::handle kwargs, const char* except) {
  const auto given = static_cast<std::size_t>(PyTuple_Size(args.ptr()));
  if (given > entry.inputs.size()) refuse_count(entry, given);
  std::vector<Tensor> tensors;
  tensors.reserve(entry.inputs.size());
  for (std::size_t i = 0; i < given; ++i) {
    const nb::handle argument = PyTuple_GetItem(args.ptr(), static_cast<Py_ssize_t>(i));
    tensors.push_back(tensor_of(argument, entry.inputs[i].dtype, entry.inputs[i].name));
  }
  tensors.resize(entry.inputs.size());
  std::size_t count = given;
  if (kwargs.is_valid()) {
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t i = 0; PyDict_Next(kwargs.ptr(), &i, &key, &value) != 0;) {
      const char* const text = PyUnicode_AsUTF8AndSize(key, nullptr);
      if (text == nullptr) throw nb::python_error();
      const std::string_view name = text;
      if (except != nullptr && name == except) continue;
      const std::size_t place = place_of(entry, name);
      if (tensors[place].dtype() != DType::invalid)
        fail(ErrorCode::invalid_argument, fmt::format("input '{}' was given twice", name));
      tensors[place] = tensor_of(value, entry.inputs[place].dtype, name);
      ++count;
    }
  }
  if (count == entry.inputs.size()) return tensors;
  if (!kwargs.is_valid()) refuse_count(entry, given);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].dtype() == DType::invalid)
      fail(ErrorCode::invalid_argument,
           fmt::format("input '{}' of '{}' was not given", entry.inputs[i].name, entry.info->name));
  }
  return tensors;
}

/// Arguments in their PyTorch structure.
std::vector<Tensor> nested_arguments(const FunctionEntry& entry, nb::handle args, nb::handle kwargs,
                                     const char* except) {
  nb::dict named;
  if (kwargs.is_valid()) {
    named.update(nb::borrow<nb::dict>(kwargs));
    if (except != nullptr && named.contains(except)) nb::del(named[except]);
  }
  const nb::list leaves = nb::cast<nb::list>(entry.flatten(args, named));
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < leaves.size(); ++i)
    tensors.push_back(tensor_of(leaves[i], entry.inputs[i].dtype, entry.inputs[i].name));
  return tensors;
}

/// The caller's arrays for results; an empty tensor for None.
std::vector<Tensor> caller_outputs(const FunctionEntry& entry, nb::handle out) {
  std::vector<Tensor> tensors;
  const auto add = [&](nb::handle o) {
    const std::size_t i = tensors.size();
    const std::string name = i < entry.info->outputs.size() ? entry.info->outputs[i].name : "out";
    tensors.push_back(o.is_none() ? Tensor() : tensor_of(o, DType::invalid, name));
  };
  if (PyTuple_Check(out.ptr()) || PyList_Check(out.ptr())) {
    for (nb::handle o : nb::iter(out)) add(o);
  } else {
    add(out);
  }
  return tensors;
}

/// True if the program itself has an argument named "out".
bool has_out(const FunctionEntry& entry) {
  return std::ranges::any_of(entry.info->inputs, [](const ValueInfo& v) {
    return v.name == kOut || v.name.starts_with(std::string(kOut) + ".");
  });
}

}  // namespace

std::vector<Tensor> arguments_of(const FunctionEntry& entry, nb::handle args, nb::handle kwargs, const char* except) {
  return entry.flatten.is_none() ? flat_arguments(entry, args, kwargs, except)
                                 : nested_arguments(entry, args, kwargs, except);
}

nb::object results_of(const FunctionEntry& entry, std::vector<Tensor> results) {
  if (entry.unflatten.is_none() && results.size() == 1) return tensor_object(std::move(results[0]));
  nb::list list;
  for (Tensor& t : results) list.append(tensor_object(std::move(t)));
  return entry.unflatten.is_none() ? nb::object(nb::tuple(list)) : nb::object(entry.unflatten(list));
}

nb::object call(const FunctionEntry& entry, Runner& runner, PyObject* args, PyObject* kwargs) {
  PyObject* const out = kwargs != nullptr ? PyDict_GetItemString(kwargs, kOut) : nullptr;
  if (out == nullptr || has_out(entry))
    return results_of(entry, runner.run(entry.info->name, arguments_of(entry, args, kwargs)));
  const std::vector<Tensor> inputs = arguments_of(entry, args, kwargs, kOut);
  if (out == Py_None) return results_of(entry, runner.run(entry.info->name, inputs));
  runner.run_into(entry.info->name, inputs, caller_outputs(entry, out));
  return nb::borrow(out);
}

}  // namespace tern::python
