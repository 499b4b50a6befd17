// A product with a constant matrix through oneDNN: the matrix is packed once.
#pragma once

#include <memory>

#include "kernels/kernel.h"

namespace tern::dnnl_cpu {

struct PackedProduct {
  std::int64_t m = 0, n = 0, k = 0;
  DType dtype = DType::f32;        ///< type of a, the bias and c: f32 or bf16
  std::int64_t lda = 0;            ///< distance between rows of the row-major a [m, k]; c is dense
  TensorView weight;               ///< [k, n], any strides, any type convertible to `dtype` without loss
  bool bias = false;               ///< [n]
  WeightAccess* access = nullptr;  ///< KernelCall::weights; the weight is operand 1
};

/// A product primitive. Any thread may run an object, several at the same time with separate scratch memory.
class PackedMatmul {
 public:
  virtual ~PackedMatmul() = default;
  virtual std::size_t scratch() const = 0;
  virtual void run(const void* a, const void* bias, void* c, std::byte* scratch) const = 0;
};

/// Returns null if oneDNN has no packed implementation or packing gains nothing.
std::unique_ptr<PackedMatmul> packed_matmul(const PackedProduct& p);
/// True if this processor multiplies bf16 natively.
bool native_bf16();
/// False in a build without oneDNN.
bool is_built();

}  // namespace tern::dnnl_cpu
