// tern_array, the C interface's description of a tensor.
#pragma once

#include <tern/c_api.h>
#include <tern/tensor.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tern::c_api {

/// Throws invalid_argument if no tensor can have this dtype or rank.
void check_kind(std::int32_t dtype, std::int32_t rank);
/// A view of the caller's memory.
Tensor tensor_of(const tern_array& a);
std::vector<Tensor> tensors_of(const tern_array* arrays, std::size_t count);

void describe(const Tensor& t, tern_array* array);

}  // namespace tern::c_api
