// Errors of the library as Python exceptions: tern.Error and its subclasses (python/tern/_errors.py).
#pragma once

#include <nanobind/nanobind.h>
#include <tern/error.h>

#include <exception>

namespace tern::python {

/// Sets the Python exception for a C++ exception. Needs the GIL.
void set_python_error(const std::exception& error);
/// Registers set_python_error with nanobind for all functions.
void register_errors();

}  // namespace tern::python
