// DLPack: tensors shared with PyTorch, NumPy, JAX and others without a copy (https://github.com/dmlc/dlpack).
//
// This header only declares DLPack's structs: include your own dlpack/dlpack.h to read the members. Errors are
// tern::Error. Any thread may call these functions.
#pragma once

#include <tern/tensor.h>

struct DLManagedTensor;           // DLPack 0.x
struct DLManagedTensorVersioned;  // DLPack 1.x

namespace tern {

/// A Tensor over the memory of a DLPack tensor. The Tensor takes ownership and calls the deleter after its last copy is
/// destroyed. Strides are kept; a read-only DLPack tensor stays read-only. Memory is on the CPU or on a supported
/// device "cuda" or "rocm"; on a device, the elements must be written before use (Tensor::borrow_on). Without taking
/// ownership, throws unsupported for other memory and element types, and invalid_argument if Tern lacks the device.
TERN_API Tensor from_dlpack(DLManagedTensor* tensor);
TERN_API Tensor from_dlpack(DLManagedTensorVersioned* tensor);

/// A DLPack tensor sharing the memory of `tensor`, and keeping the memory alive until its deleter is called. If
/// `tensor` borrows memory (a result of Session::run does), the borrowed memory must stay valid as long: else pass a
/// clone(). Throws unsupported for float6 and float4, and for memory of other devices. The first form cannot mark a
/// tensor as read-only, and throws invalid_argument for read-only tensors.
TERN_API DLManagedTensor* to_dlpack(const Tensor& tensor);
TERN_API DLManagedTensorVersioned* to_dlpack_versioned(const Tensor& tensor);

}  // namespace tern
