// An 8-bit integer convolution node whose image and result are channels last.
#pragma once

#include <memory>

#include "kernels/cpu/algorithms.h"
#include "kernels/cpu/convolution/problem.h"
#include "kernels/cpu/products/int8/convolution_driver.h"

namespace tern::cpu {

class IntegerConvolution : public PreparedAlgorithm {
 public:
  /// True for images of one or two dimensions with sums exact in 32 bits, in any view.
  static bool serves(const KernelCall& call, const ConvolutionProblem& problem);
  /// Returns null if `serves` is false or the views are not channels last.
  static std::unique_ptr<IntegerConvolution> create(const KernelCall& call, const ConvolutionProblem& problem);

  void reserve(const KernelCall& call, ScratchArena& arena) const override;
  RemainingWork run(KernelCall& call, ScratchArena& arena, const pointwise::Epilogue* epilogue) const override;

 private:
  IntegerConvolution(const KernelCall& call, const ConvolutionProblem& problem,
                     std::unique_ptr<pointwise::Epilogue> epilogue);

  struct Room;
  /// A float32 bias is added after the sums are converted to float.
  bool has_late_bias(const KernelCall& call) const { return call.has_input(2) && !stores_sums_; }
  void add_bias(const KernelCall& call) const;

  int8::ConvolutionShape shape_;
  bool stores_sums_, depthwise_;
  int8::Int8Convolution convolution_;
  std::shared_ptr<const std::byte> weight_;  ///< null where it is packed in a run, or not at all
  std::unique_ptr<pointwise::Epilogue> epilogue_;
};

}  // namespace tern::cpu
