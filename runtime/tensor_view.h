// A caller's tensor as kernels and messages see it.
#pragma once

#include <tern/tensor.h>

#include <span>
#include <string>

#include "kernels/kernel.h"

struct DLManagedTensor;

namespace tern {

/// Its rank must be at most kMaxRank.
TensorView tensor_view(const Tensor& t);
/// "float32[2, 8]"
std::string text_of(DType dtype, std::span<const std::int64_t> sizes);
std::string text_of(const Tensor& t);
/// Over the memory of a DLPack tensor, which keeps it.
Tensor view_of_dlpack(const DLManagedTensor* tensor);

}  // namespace tern
