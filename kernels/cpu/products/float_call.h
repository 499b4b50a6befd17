// A call with operands and result in float32: lets a float algorithm take over after a bfloat16 algorithm failed.
#pragma once

#include <vector>

#include "kernels/kernel.h"

namespace tern::cpu {

class FloatCall {
 public:
  /// Makes the call for prepare: views of the same sizes and order in memory, without data.
  explicit FloatCall(const KernelCall& call);
  FloatCall(const FloatCall&) = delete;
  FloatCall& operator=(const FloatCall&) = delete;

  KernelCall& call() { return call_; }
  /// Makes the call for a run: takes memory, and converts the first operand and the bias. `weight` becomes the second,
  /// dense.
  void widen(std::vector<float> weight);
  /// Rounds the result to the call's type.
  void store() const;

 private:
  const KernelCall& original_;
  KernelCall call_;
  std::vector<TensorView> in_;
  TensorView out_;
  std::vector<float> x_, weight_, bias_, y_;
};

}  // namespace tern::cpu
