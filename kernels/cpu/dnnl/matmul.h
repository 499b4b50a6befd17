// A product with a constant matrix through oneDNN: the matrix is packed once.
#pragma once

#include <memory>

#include "kernels/kernel.h"

namespace tern::dnnl_cpu {

struct PackedProduct {
  std::int64_t m = 0, n = 0, k = 0;
  DType dtype = DType::f32;        ///< of a, the bias and c: f32 or bf16
  std::int64_t lda = 0;            ///< a [m, k] is row-major with rows this far apart; c's rows follow each other
  TensorView weight;               ///< [k, n], any strides, any type that widens to `dtype`
  bool bias = false;               ///< [n]
  WeightAccess* access = nullptr;  ///< KernelCall::weights; the weight is operand 1
};

/// Any thread may run it, several at the same time with scratch memory of their own.
class PackedMatmul {
 public:
  virtual ~PackedMatmul() = default;
  virtual std::size_t scratch() const = 0;
  virtual void run(const void* a, const void* bias, void* c, std::byte* scratch) const = 0;
};

/// Null where oneDNN has no packed implementation, and where it would gain nothing.
std::unique_ptr<PackedMatmul> packed_matmul(const PackedProduct& p);
/// Whether bf16 products run natively here.
bool native_bf16();

}  // namespace tern::dnnl_cpu
