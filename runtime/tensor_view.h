// A caller's tensor as kernels and messages see it.
#pragma once

#include <tern/tensor.h>

#include <span>
#include <string>

#include "kernels/kernel.h"
#include "runtime/dlpack_abi.h"

struct DLManagedTensor;

namespace tern {

/// Its rank must be at most kMaxRank.
TensorView tensor_view(const Tensor& t);
/// "float32[2, 8]"
std::string text_of(DType dtype, std::span<const std::int64_t> sizes);
std::string text_of(const Tensor& t);
/// Over the memory of a DLPack tensor, which keeps it.
Tensor view_of_dlpack(const DLManagedTensor* tensor);
/// Where DLPack has the tensor's memory. Throws unsupported for devices that it has no word for.
dlpack::Device dlpack_device(const Tensor& tensor);

}  // namespace tern
