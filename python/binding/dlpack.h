// DLPack in both directions: capsules, and the C functions of DLPack 1.2, usable without Python calls.
#pragma once

#include <nanobind/nanobind.h>
#include <tern/tensor.h>

#include <string_view>

namespace tern::python {

/// A tensor over the memory of an object with DLPack, with complete elements. False for objects without DLPack. Throws
/// Error, naming the input, for memory outside the CPU and Tern's devices "cuda" and "rocm", for types missing in Tern,
/// and for exceptions of the object; nb::python_error for Ctrl-C.
bool tensor_of_dlpack(nanobind::handle object, std::string_view name, Tensor* tensor);

/// The result of __dlpack_device__. Throws BufferError for devices unknown to DLPack.
nanobind::tuple place_of(const Tensor& tensor);

/// A capsule "dltensor_versioned", or "dltensor" for callers of DLPack 0.
nanobind::object capsule_of(const Tensor& tensor, bool versioned);

}  // namespace tern::python
