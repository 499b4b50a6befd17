// A call: Python arguments to tensors, a run, results to Python objects.
#pragma once

#include <nanobind/nanobind.h>

#include <exception>
#include <vector>

#include "python/binding/errors.h"
#include "python/binding/facts.h"
#include "python/binding/runner.h"

namespace tern::python {

/// The tensors of a call, in the function's order. `kwargs` may be null; `except` names a keyword without an input.
std::vector<Tensor> arguments_of(const FunctionEntry& entry, nanobind::handle args, nanobind::handle kwargs,
                                 const char* except = nullptr);
/// The return value of a call with these results: a tensor, a tuple, or the program's structure in PyTorch.
nanobind::object results_of(const FunctionEntry& entry, std::vector<Tensor> results);
/// The whole call.
nanobind::object call(const FunctionEntry& entry, Runner& runner, PyObject* args, PyObject* kwargs);

/// Wrapper for slots, because nanobind does not catch their exceptions: the result of `act` as a new reference, or null
/// with the Python exception set.
template <class Act>
PyObject* call_slot(Act act) noexcept {
  try {
    return act().release().ptr();
  } catch (nanobind::python_error& e) {
    e.restore();
  } catch (const std::exception& e) {
    set_python_error(e);
  }
  return nullptr;
}

}  // namespace tern::python
