// Python's arrays as tensors, without a copy: NumPy and the buffer protocol, torch, and all that has DLPack.
#pragma once

#include <nanobind/nanobind.h>
#include <tern/tensor.h>

#include <string_view>

namespace tern::python {

/// A tensor over the memory of a Python object, which it keeps alive. `wanted` is the element type for a Python number,
/// or invalid. `name` is that of the argument, for messages. Throws Error, or nb::python_error.
Tensor tensor_of(nanobind::handle object, DType wanted, std::string_view name);

/// The letters that the buffer protocol has for an element type, or null.
const char* buffer_format(DType dtype);

}  // namespace tern::python
