// A convolution's operands in the type of its sums.
#pragma once

#include "kernels/cpu/dense.h"

namespace tern::cpu {

class ConvolutionOperands {
 public:
  /// Takes memory for what has another type than `type`: not for the weight where that is not read.
  ConvolutionOperands(const KernelCall& call, DType type, bool reads_weight, ScratchParts& parts);

  /// Converts what has to be. Then the pointers below can be read, and `sums` written.
  void convert();
  /// Converts the sums to the result.
  void finish() const;

  const std::byte *x = nullptr, *weight = nullptr, *bias = nullptr;  ///< bias: null where there is none
  std::byte* sums = nullptr;

 private:
  const std::byte* operand(std::size_t i, std::byte* buffer) const;

  const KernelCall& call_;
  DType type_;
  std::byte *x_ = nullptr, *weight_ = nullptr, *bias_ = nullptr, *y_ = nullptr;
};

}  // namespace tern::cpu
