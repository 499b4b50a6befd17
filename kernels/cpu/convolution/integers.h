// A convolution node of integers of 8 bits whose image and result have their channels last.
#pragma once

#include <memory>

#include "kernels/cpu/algorithms.h"
#include "kernels/cpu/convolution/problem.h"
#include "kernels/cpu/products/int8/convolution_driver.h"

namespace tern::cpu {

class IntegerConvolution : public PreparedAlgorithm {
 public:
  /// Whether the call is one, wherever its views lie: images of one or two dimensions, sums that are exact in 32 bits.
  static bool serves(const KernelCall& call, const ConvolutionProblem& problem);
  /// Null where it is not, or the views lie otherwise.
  static std::unique_ptr<IntegerConvolution> make(const KernelCall& call, const ConvolutionProblem& problem);

  void reserve(const KernelCall& call, ScratchParts& parts) const override;
  Left run(KernelCall& call, ScratchParts& parts, const pointwise::Epilogue* epilogue) const override;

 private:
  IntegerConvolution(const KernelCall& call, const ConvolutionProblem& problem,
                     std::unique_ptr<pointwise::Epilogue> epilogue);

  struct Room;
  /// A float32 bias is added to sums that have become floats.
  bool has_late_bias(const KernelCall& call) const { return call.has(2) && !keeps_; }
  void add_bias(const KernelCall& call) const;

  int8::ConvolutionShape shape_;
  bool keeps_, depthwise_;
  int8::Convolution convolution_;
  std::shared_ptr<const std::byte> weight_;  ///< null where it is packed in a run, or not at all
  std::unique_ptr<pointwise::Epilogue> epilogue_;
};

}  // namespace tern::cpu
