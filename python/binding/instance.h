// The C++ object in a Python one, for slots, which nanobind does not check.
#pragma once

#include <nanobind/nanobind.h>

namespace tern::python {

/// Throws nb::type_error for an object that __new__ made and __init__ did not: nothing is in it.
template <class T>
T& instance(PyObject* self) {
  if (!nanobind::inst_ready(self))
    throw nanobind::type_error("the object was made by __new__ and never initialized; tern.load() makes models");
  return *nanobind::inst_ptr<T>(self);
}

}  // namespace tern::python
