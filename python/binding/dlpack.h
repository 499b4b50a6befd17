// DLPack in both directions: capsules, and the C functions of DLPack 1.2 that need no call of Python code.
#pragma once

#include <nanobind/nanobind.h>
#include <tern/tensor.h>

#include <string_view>

namespace tern::python {

/// A tensor over the memory of an object that has DLPack, whose elements are there. False if it has none. Throws Error,
/// which names the input, where the memory is not that of the CPU or of a device "cuda" or "rocm" of Tern's, the type
/// is not Tern's, or the object raises; nb::python_error for Ctrl-C.
bool tensor_of_dlpack(nanobind::handle object, std::string_view name, Tensor* tensor);

/// What __dlpack_device__ gives. Throws BufferError for memory of devices that DLPack has no word for.
nanobind::tuple place_of(const Tensor& tensor);

/// A capsule "dltensor_versioned", or "dltensor" for callers of DLPack 0.
nanobind::object capsule_of(const Tensor& tensor, bool versioned);

}  // namespace tern::python
