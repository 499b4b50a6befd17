// A call: Python arguments to tensors, a run, results to Python objects.
#pragma once

#include <nanobind/nanobind.h>

#include <exception>
#include <vector>

#include "python/binding/errors.h"
#include "python/binding/facts.h"
#include "python/binding/runner.h"

namespace tern::python {

/// The tensors of a call, in the order in which the function takes them. `kwargs` may be null; `except` names one in it
/// that is no input.
std::vector<Tensor> arguments_of(const Entry& entry, nanobind::handle args, nanobind::handle kwargs,
                                 const char* except = nullptr);
/// What a call gives for these results: one tensor, a tuple, or the structure that the program had in PyTorch.
nanobind::object results_of(const Entry& entry, std::vector<Tensor> results);
/// The whole call.
nanobind::object call(const Entry& entry, Runner& runner, PyObject* args, PyObject* kwargs);

/// For slots, whose exceptions nanobind does not catch: what `act` gives as a new reference, or null and the Python
/// exception is set.
template <class Act>
PyObject* in_slot(Act act) noexcept {
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
