// A convolution's operands in the type of the sums.
#pragma once

#include "kernels/cpu/dense.h"

namespace tern::cpu {

class ConvolutionOperands {
 public:
  /// Reserves buffers for operands with another type than `type`; skips a weight that the algorithm does not read.
  ConvolutionOperands(const KernelCall& call, DType type, bool reads_weight, ScratchArena& arena);

  /// Converts operands to `type`. Then the pointers below are readable and `sums` is writable.
  void convert();
  /// Converts the sums to the result.
  void finish() const;

  const std::byte *x = nullptr, *weight = nullptr, *bias = nullptr;  ///< bias: null if absent
  std::byte* sums = nullptr;

 private:
  const std::byte* operand(std::size_t i, std::byte* buffer) const;

  const KernelCall& call_;
  DType type_;
  std::byte *x_ = nullptr, *weight_ = nullptr, *bias_ = nullptr, *y_ = nullptr;
};

}  // namespace tern::cpu
