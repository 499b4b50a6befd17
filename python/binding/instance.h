// The C++ object in a Python object, for slots, because nanobind does not check slots.
#pragma once

#include <nanobind/nanobind.h>

namespace tern::python {

/// Throws nb::type_error for an uninitialised object (__new__ without __init__).
template <class T>
T& instance(PyObject* self) {
  if (!nanobind::inst_ready(self))
    throw nanobind::type_error("the object was made by __new__ and never initialized; tern.load() makes models");
  return *nanobind::inst_ptr<T>(self);
}

}  // namespace tern::python
