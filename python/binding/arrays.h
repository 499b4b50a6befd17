// Python's arrays as tensors, without a copy: NumPy and the buffer protocol, torch, and objects with DLPack.
#pragma once

#include <nanobind/nanobind.h>
#include <tern/tensor.h>

#include <string_view>

namespace tern::python {

/// A tensor over the memory of a Python object, keeping the object alive. `wanted` is the element type for a Python
/// number, or invalid. `name` is the argument's name in messages. Throws Error, or nb::python_error.
Tensor tensor_of(nanobind::handle object, DType wanted, std::string_view name);

/// The buffer protocol's letters for an element type, or null.
const char* buffer_format(DType dtype);

}  // namespace tern::python
