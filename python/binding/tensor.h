// tern.Tensor: the results of calls.
#pragma once

#include <nanobind/nanobind.h>
#include <tern/tensor.h>

namespace tern::python {

void add_tensor(nanobind::module_& m);

/// The tensor in a tern.Tensor, or null for any other object.
const Tensor* own_tensor(nanobind::handle object);
/// A tern.Tensor, or None for a tensor without element type.
nanobind::object tensor_object(Tensor tensor);

}  // namespace tern::python
