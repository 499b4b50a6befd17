// Convolutions of few input channels, on padded planes.
#include <algorithm>

#include "kernels/cpu/convolution/algorithms.h"
#include "kernels/cpu/convolution/operands.h"

namespace tern::cpu {
namespace {

/// Applies the epilogue to elements [begin, begin + count) of the result. Whole planes form one block, since most
/// operands are constant over a channel's plane.
void apply_by_planes(const KernelCall& c, const pointwise::Epilogue& epilogue, std::int64_t begin, std::int64_t count) {
  const TensorView& y = c.out[0];
  const std::int64_t plane = y.numel() / (y.size(0) * y.size(1));
  while (count > 0) {
    const std::int64_t at = begin % plane, rows = at == 0 ? std::max<std::int64_t>(1, count / plane) : 1;
    const std::int64_t columns = std::min(count, plane - at);
    epilogue.apply_block(c, y.data_as<float>() + begin, plane, rows, columns, begin, plane);
    begin += rows * columns;
    count -= rows * columns;
  }
}

class PlaneConvolution : public PreparedAlgorithm {
 public:
  explicit PlaneConvolution(const ConvolutionProblem& p) : convolution_(direct(p)) { choice = {Algorithm::planes}; }

  void reserve(const KernelCall& c, ScratchArena& arena) const override {
    const ConvolutionOperands operands(c, DType::f32, true, arena);
  }

  RemainingWork run(KernelCall& c, ScratchArena& arena, const pointwise::Epilogue* epilogue) const override {
    ConvolutionOperands at(c, DType::f32, true, arena);
    at.convert();
    planes::Finished finished;
    if (epilogue != nullptr) {
      finished = [&](std::int64_t begin, std::int64_t count) { apply_by_planes(c, *epilogue, begin, count); };
    }
    const auto floats = [](const std::byte* b) { return reinterpret_cast<const float*>(b); };
    planes::convolve(convolution_, floats(at.x), floats(at.weight), floats(at.bias), reinterpret_cast<float*>(at.sums),
                     finished);
    at.finish();
    return RemainingWork::nothing;
  }

 private:
  planes::DirectConvolution convolution_;
};

}  // namespace

std::unique_ptr<PreparedAlgorithm> convolution_by_planes(const ConvolutionCall& c) {
  return c.direct ? std::make_unique<PlaneConvolution>(c.problem) : nullptr;
}

}  // namespace tern::cpu
