// Convolutions of f32 and bf16 through oneDNN.
#pragma once

#include <memory>
#include <vector>

#include "kernels/kernel.h"

namespace tern::dnnl_cpu {

struct DnnlConvolutionProblem {
  DType dtype = DType::f32;        ///< f32 or bf16: type of the primitive and of all tensors but the weight
  std::vector<std::int64_t> x, y;  ///< sizes, row-major
  std::vector<std::int64_t> strides, dilations, padding_before, padding_after;  ///< dilations from 1
  std::int64_t groups = 1;
  bool transposed = false;
  bool bias = false;
  TensorView weight;               ///< contiguous; data is null unless the weight is constant
  WeightAccess* access = nullptr;  ///< KernelCall::weights; the weight is operand 1
};

/// A convolution primitive. Any thread may run an object, several at the same time with separate scratch memory.
class DnnlConvolution {
 public:
  virtual ~DnnlConvolution() = default;
  virtual std::size_t scratch() const = 0;
  /// `weight` is not read if constant.
  virtual void run(const void* x, const void* weight, const void* bias, void* y, std::byte* scratch) const = 0;
};

/// Returns null if oneDNN has no implementation.
std::unique_ptr<DnnlConvolution> convolution(const DnnlConvolutionProblem& p);

}  // namespace tern::dnnl_cpu
