// A caller's tensor, converted for kernels and messages.
#pragma once

#include <tern/tensor.h>

#include <span>
#include <string>

#include "kernels/kernel.h"
#include "runtime/dlpack_abi.h"

struct DLManagedTensor;

namespace tern {

/// The rank must be at most kMaxRank.
TensorView tensor_view(const Tensor& t);
/// "float32[2, 8]"
std::string text_of(DType dtype, std::span<const std::int64_t> sizes);
std::string text_of(const Tensor& t);
/// Wraps a DLPack tensor and takes ownership.
Tensor view_of_dlpack(const DLManagedTensor* tensor);
/// DLPack's device of the tensor's memory. Throws unsupported for devices unknown to DLPack.
dlpack::DeviceId dlpack_device(const Tensor& tensor);

}  // namespace tern
