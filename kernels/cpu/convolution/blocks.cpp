// Float convolutions by native kernels of products, nothing packed.
#include <algorithm>

#include "kernels/cpu/convolution/algorithms.h"
#include "kernels/cpu/products/float32/convolution_driver.h"

namespace tern::cpu {
namespace {

void forward_by_blocks(const ConvolutionProblem& p, const float* x, const float* weight, float* y) {
  const std::int64_t kernel = plane(p.window, &WindowAxis::kernel), in_size = plane(p.window, &WindowAxis::in),
                     out_size = plane(p.window, &WindowAxis::out);
  for (std::int64_t g = 0; g < p.batch * p.groups; ++g) {
    convolve({p.window, p.in, p.out}, x + g * p.in * in_size, weight + g % p.groups * p.out * p.in * kernel,
             y + g * p.out * out_size);
  }
}

class ConvolutionBlocks : public PreparedAlgorithm {
 public:
  explicit ConvolutionBlocks(const ConvolutionProblem& p) : p_(p) { choice = {Algorithm::blocks}; }

  void reserve(const KernelCall&, ScratchArena&) const override {}

  RemainingWork run(KernelCall& c, ScratchArena&, const pointwise::Epilogue*) const override {
    const TensorView& y = c.out[0];
    const std::int64_t lines = y.size(0) * y.size(1), size = y.numel() / lines;
    const float* bias = c.has_input(2) ? c.in[2].data_as<const float>() : nullptr;
    for (std::int64_t i = 0; i < lines; ++i)
      std::fill_n(y.data_as<float>() + i * size, size, bias == nullptr ? 0.0F : bias[i % y.size(1)]);
    if (c.in[0].numel() != 0 && c.in[1].numel() != 0)
      forward_by_blocks(p_, c.in[0].data_as<const float>(), c.in[1].data_as<const float>(), y.data_as<float>());
    return RemainingWork::epilogue;
  }

 private:
  ConvolutionProblem p_;
};

}  // namespace

std::unique_ptr<PreparedAlgorithm> convolution_by_blocks(const ConvolutionCall& c) {
  return c.floats ? std::make_unique<ConvolutionBlocks>(c.problem) : nullptr;
}

}  // namespace tern::cpu
