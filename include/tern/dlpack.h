// DLPack: tensors shared with PyTorch, NumPy, JAX and others without a copy (https://github.com/dmlc/dlpack).
//
// This header names DLPack's structs and does not define them: include your own dlpack/dlpack.h to read them. Errors
// are tern::Error. Any thread may call these functions.
#pragma once

#include <tern/tensor.h>

struct DLManagedTensor;           // DLPack 0.x
struct DLManagedTensorVersioned;  // DLPack 1.x

namespace tern {

/// A Tensor over the memory of a DLPack tensor, which it owns from then on: it calls the deleter when its last copy is
/// gone. Strides are kept; a read-only DLPack tensor stays read-only. Memory is the CPU's, or of a device "cuda" or
/// "rocm" that Tern has, where the elements must be there when they are used (Tensor::borrow_on). Throws unsupported,
/// and does not take ownership, for other memory and element types, and invalid_argument if Tern has no such device.
TERN_API Tensor from_dlpack(DLManagedTensor* tensor);
TERN_API Tensor from_dlpack(DLManagedTensorVersioned* tensor);

/// A DLPack tensor that shares the memory of `tensor` and keeps it alive until its deleter is called. If `tensor`
/// borrows memory, such as a result of Session::run, that memory must stay valid as long: pass a clone() otherwise.
/// Throws unsupported for float6 and float4, and for memory of devices but those two. The first form cannot say that a
/// tensor is read-only, and throws invalid_argument for one.
TERN_API DLManagedTensor* to_dlpack(const Tensor& tensor);
TERN_API DLManagedTensorVersioned* to_dlpack_versioned(const Tensor& tensor);

}  // namespace tern
