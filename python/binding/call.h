// A call: Python arguments to tensors, a run, results to Python objects.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "python/binding/facts.h"
#include "python/binding/runner.h"

namespace tern::python {

/// The tensors of a call, in the order in which the function takes them. `kwargs` may be null; "out" in it is left out.
std::vector<Tensor> arguments_of(const Entry& entry, nanobind::handle args, nanobind::handle kwargs);
/// What a call gives for these results: one tensor, a tuple, or the structure that the program had in PyTorch.
nanobind::object results_of(const Entry& entry, std::vector<Tensor> results);
/// The whole call. Returns null and sets the Python exception if it fails: for the slot tp_call.
PyObject* call(const Entry& entry, Runner& runner, PyObject* args, PyObject* kwargs) noexcept;

}  // namespace tern::python
