// tern_array, the C interface's description of a tensor.
#pragma once

#include <tern/c_api.h>
#include <tern/tensor.h>

#include <cstddef>
#include <vector>

namespace tern::c_api {

/// A view of the caller's memory.
Tensor tensor_of(const tern_array& a);
std::vector<Tensor> tensors_of(const tern_array* arrays, std::size_t count);

void describe(const Tensor& t, tern_array* array);

}  // namespace tern::c_api
