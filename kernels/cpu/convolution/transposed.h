// A transposed convolution node whose image and result are channels last. Numbers of bfloat16 are widened first.
#pragma once

#include <memory>

#include "kernels/cpu/algorithms.h"
#include "kernels/cpu/channels_last/transposed.h"
#include "kernels/cpu/convolution/problem.h"

namespace tern::cpu {

class TransposedChannelsLast : public PreparedAlgorithm {
 public:
  /// True if this algorithm takes the call, in any view.
  static bool serves(const KernelCall& call, const ConvolutionProblem& p);
  /// Returns null if `serves` is false or the views are not channels last.
  static std::unique_ptr<TransposedChannelsLast> create(const KernelCall& call, const ConvolutionProblem& p);

  void reserve(const KernelCall& call, ScratchArena& arena) const override;
  RemainingWork run(KernelCall& call, ScratchArena& arena, const pointwise::Epilogue* epilogue) const override;

 private:
  explicit TransposedChannelsLast(const ConvolutionProblem& p)
      : convolution_({p.window, p.batch, p.groups, p.in, p.out}) {}

  channels_last::TransposedConvolution convolution_;
  std::shared_ptr<const std::byte> weight_;  ///< packed; null: packed in each run
  std::unique_ptr<pointwise::Epilogue> epilogue_;
};

}  // namespace tern::cpu
