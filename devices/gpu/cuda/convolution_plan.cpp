#include "devices/gpu/cuda/convolution_plan.h"

namespace tern::gpu {
namespace {

using namespace cudnn;

/// cudnnDataType_t.
int type_of(const Convolution& c) {
  constexpr int kTypes[] = {kHalf, kBfloat16, kFloat, kDouble};  // indexed from float16 of tern/dtype.h
  return kTypes[c.dtype - 10];
}

Descriptor window(const CudnnApi& api, const Convolution& c, int compute) {
  Descriptor d(api, kConvolution);
  d.set(kConvolutionType, kTypeData, compute).set(kConvolutionMode, kTypeConvolutionMode, kCrossCorrelation);
  d.set(kConvolutionAxes, kTypeInt64, static_cast<std::int64_t>(c.padding_before.size()));
  d.set(kConvolutionBefore, c.padding_before).set(kConvolutionAfter, c.padding_after);
  d.set(kConvolutionStrides, c.strides).set(kConvolutionDilations, c.dilations).finalize();
  return d;
}

Shape bias_shape(const Convolution& c) {
  Shape shape{std::vector<std::int64_t>(c.y.sizes.size(), 1), std::vector<std::int64_t>(c.y.sizes.size(), 1)};
  shape.sizes[1] = c.y.sizes[1];
  shape.strides[0] = c.y.sizes[1];
  return shape;
}

}  // namespace

Operations convolution_operations(const CudnnApi& api, const Convolution& c, std::int64_t alignment) {
  const int type = type_of(c);
  const bool wide = type == kDouble;
  Operations all(api, wide ? kDouble : kFloat);
  const Descriptor x = all.operand(c.x, type, kConvolutionX, alignment),
                   w = all.operand(c.w, type, kConvolutionW, alignment),
                   y = all.operand(c.y, type, kConvolutionY, alignment);
  const Descriptor sum = all.intermediate(c.y), biased = all.intermediate(c.y);
  Descriptor& forward = all.add(kConvolutionForward);
  forward.set(kForwardX, x).set(kForwardW, w).set(kForwardY, c.has_bias || c.has_relu ? sum : y);
  forward.set(kForwardConvolution, window(api, c, all.compute()));
  if (wide) {
    forward.set(kForwardAlpha, kTypeDouble, 1.0).set(kForwardBeta, kTypeDouble, 0.0);
  } else {
    forward.set(kForwardAlpha, kTypeFloat, 1.0f).set(kForwardBeta, kTypeFloat, 0.0f);
  }
  forward.finalize();
  if (c.has_bias) {
    const Descriptor bias = all.operand(bias_shape(c), type, kConvolutionBias, alignment);
    all.pointwise(kAdd, sum, {.b = &bias}, c.has_relu ? biased : y);
  }
  if (c.has_relu) all.pointwise(kRelu, c.has_bias ? biased : sum, {}, y);
  return all;
}

std::vector<int> refused_notes(const Convolution& c) {
  if (type_of(c) != kFloat) return {kReducesPrecision};
  if (!c.is_exact) return {kReducesPrecision, kDownConverts};
  return {kReducesPrecision, kDownConverts, kTensorCore};
}

std::unique_ptr<CudnnPlan> convolution_plan(const CudnnApi& api, const CudnnTarget& target, const Convolution& c,
                                            std::int64_t alignment) {
  PlanName name("convolution");
  name.add(c.dtype).add(c.is_exact).add(c.has_bias).add(c.has_relu).add(static_cast<double>(alignment));
  name.add(c.x).add(c.w).add(c.y).add(c.padding_before).add(c.padding_after).add(c.strides).add(c.dilations);
  return cudnn_plan(target, convolution_operations(api, c, alignment), refused_notes(c), Compiling::gives_way, name);
}

}  // namespace tern::gpu
