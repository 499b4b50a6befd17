// Errors of the library as Python exceptions: tern.Error and its subclasses (python/tern/_errors.py).
#pragma once

#include <nanobind/nanobind.h>
#include <tern/error.h>

#include <exception>

namespace tern::python {

/// Sets the Python exception for a C++ one. Needs the GIL.
void set_python_error(const std::exception& error);
/// Has nanobind call it for what functions throw.
void register_errors();

}  // namespace tern::python
