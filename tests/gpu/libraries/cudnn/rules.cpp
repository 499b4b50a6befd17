#include "tests/gpu/libraries/cudnn/rules.h"

#include <algorithm>

#include "tests/gpu/libraries/driver.h"

namespace tern::stand_in {
namespace {

using namespace gpu::cudnn;
using Sizes = std::vector<std::int64_t>;
using ll = long long;

DType type_of(const Object& tensor) {
  switch (tensor.element<int>(kTensorType)) {
    case kHalf: return DType::f16;
    case kBfloat16: return DType::bf16;
    case kFloat: return DType::f32;
    case kDouble: return DType::f64;
    default: misuse("cuDNN: the type %d of a tensor", tensor.element<int>(kTensorType));
  }
}

bool is_virtual(const Object& tensor) {
  return tensor.has_value(kTensorVirtual) && tensor.element<char>(kTensorVirtual) != 0;
}

ImageCall image(const Object& tensor) {
  const Sizes sizes = tensor.elements<std::int64_t>(kTensorSizes),
              strides = tensor.elements<std::int64_t>(kTensorStrides);
  if (sizes.size() != strides.size()) misuse("cuDNN: %zu sizes and %zu strides", sizes.size(), strides.size());
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] < 1 || strides[i] < 1) misuse("cuDNN: size %lld, stride %lld", ll{sizes[i]}, ll{strides[i]});
  const std::int64_t alignment = tensor.element<std::int64_t>(kTensorAlignment);
  if (alignment < 1 || alignment % element_size(type_of(tensor)) != 0)
    misuse("cuDNN: an alignment of %lld bytes", ll{alignment});
  ImageCall call{};
  std::ranges::copy(sizes, call.sizes);
  std::ranges::copy(strides, call.strides);
  return call;
}

void copy(const Object& window, int name, std::size_t axes, std::int64_t* to) {
  const Sizes values = window.elements<std::int64_t>(name);
  if (values.size() != axes) misuse("cuDNN: attribute %d has %zu values for %zu axes", name, values.size(), axes);
  std::ranges::copy(values, to);
}

void check(std::int64_t a, std::int64_t b, const char* what) {
  if (a != b) misuse("cuDNN: %s: %lld and %lld", what, ll{a}, ll{b});
}

/// A vector along the channels.
const Object& bias_of(const Object& add, const ConvolutionCall& call) {
  if (!add.has_value(kPointwiseB)) misuse("cuDNN: an addition of one operand");
  const Object& bias = add.object(kPointwiseB);
  const ImageCall image = stand_in::image(bias);
  for (int a = 0; a < call.axes + 2; ++a)
    check(image.sizes[a], a == 1 ? call.y.sizes[1] : 1, "the sizes of the bias and the channels");
  check(image.strides[1], 1, "the stride of the bias");
  return bias;
}

/// A pointwise operation on the result of the previous operation; returns its result.
const Object& follow(const Object& operation, const Object& before, ConvolutionCall* call) {
  check(operation.kind, kPointwiseOperation, "an operation after the convolution");
  if (&operation.object(kPointwiseX) != &before || !is_virtual(before))
    misuse("cuDNN: a pointwise operation does not take the result before it");
  const int mode = operation.object(kPointwiseDescriptor).element<int>(kPointwiseMode);
  if (mode == kAdd) {
    if (call->has_relu) misuse("cuDNN: a bias after ReLU");
    call->bias = type_of(bias_of(operation, *call)) == call->dtype ? 1 : 0;
  } else {
    check(mode, kRelu, "the mode of a pointwise operation");
    if (operation.has_value(kPointwiseB)) misuse("cuDNN: ReLU of two operands");
    call->has_relu = true;
    // cuDNN's documentation, CUDNN_ATTR_POINTWISE_NAN_PROPAGATION: without the attribute a NaN becomes 0.
    const Object& pointwise = operation.object(kPointwiseDescriptor);
    call->keeps_nan = pointwise.has_value(kPointwiseNan) && pointwise.element<int>(kPointwiseNan) == kPropagateNan;
  }
  const Object& result = operation.object(kPointwiseY);
  const ImageCall made = image(result);
  for (int a = 0; a < call->axes + 2; ++a) check(made.sizes[a], call->y.sizes[a], "sizes of the sum and the result");
  call->y = made;
  return result;
}

}  // namespace

std::optional<ConvolutionCall> read(const Object& graph) {
  const std::size_t operations = graph.values.at(kGraphOperations).objects.size();
  const Object& forward = graph.object(kGraphOperations, 0);
  check(forward.kind, kConvolutionForward, "the first operation");
  const Object &x = forward.object(kForwardX), &w = forward.object(kForwardW), &sum = forward.object(kForwardY);
  const Object& window = forward.object(kForwardConvolution);
  ConvolutionCall c{};
  c.x = image(x);
  c.w = image(w);
  c.y = image(sum);
  c.dtype = type_of(x);
  c.axes = static_cast<std::int32_t>(x.elements<std::int64_t>(kTensorSizes).size()) - 2;
  const auto axes = static_cast<std::size_t>(c.axes);
  check(window.element<std::int64_t>(kConvolutionAxes), c.axes, "the axes of the window");
  check(window.element<int>(kConvolutionMode), kCrossCorrelation, "the mode of the convolution");
  std::int64_t after[3];
  copy(window, kConvolutionBefore, axes, c.padding_before);
  copy(window, kConvolutionAfter, axes, after);
  copy(window, kConvolutionStrides, axes, c.strides);
  copy(window, kConvolutionDilations, axes, c.dilations);
  for (std::size_t a = 0; a < axes; ++a) {
    const std::int64_t room =
        c.x.sizes[a + 2] + c.padding_before[a] + after[a] - (c.w.sizes[a + 2] - 1) * c.dilations[a] - 1;
    check(c.y.sizes[a + 2], room / c.strides[a] + 1, "a size of the result");
  }
  check(c.x.sizes[0], c.y.sizes[0], "the numbers of images");
  check(c.w.sizes[0], c.y.sizes[1], "the channels of the result");
  check(c.x.sizes[1] % c.w.sizes[1], 0, "channels that are no whole groups");
  check(c.w.sizes[0] % (c.x.sizes[1] / c.w.sizes[1]), 0, "channels of the result that are no whole groups");
  const Object* y = &sum;
  for (std::size_t i = 1; i < operations; ++i) y = &follow(graph.object(kGraphOperations, i), *y, &c);
  if (is_virtual(*y)) misuse("cuDNN: the result is virtual");
  // Sums are of float32, or of double.
  const int compute = window.element<int>(kConvolutionType);
  const bool wide = c.dtype == DType::f64;
  if (type_of(w) != c.dtype || type_of(*y) != c.dtype || compute != (wide ? kDouble : kFloat)) return std::nullopt;
  return c;
}

}  // namespace tern::stand_in
