#include "devices/gpu/cuda/cudnn_operations.h"

namespace tern::gpu::cudnn {
namespace {

constexpr std::int64_t kAnyAlignment = 16;  // alignment of tensors never stored: any value allowed for the type

}  // namespace

Descriptor Operations::tensor(const Shape& shape, int type, std::int64_t number, std::int64_t alignment) const {
  Descriptor d(*api_, kTensor);
  d.set(kTensorType, kTypeData, type).set(kTensorSizes, shape.sizes).set(kTensorStrides, shape.strides);
  d.set(kTensorNumber, kTypeInt64, number).set(kTensorAlignment, kTypeInt64, alignment);
  return d;
}

Descriptor Operations::operand(const Shape& shape, int type, std::int64_t number, std::int64_t alignment) const {
  Descriptor d = tensor(shape, type, number, alignment);
  d.finalize();
  return d;
}

Descriptor Operations::intermediate(const Shape& shape, int type) {
  Descriptor d = tensor(shape, type, next_++, kAnyAlignment);
  d.set(kTensorVirtual, kTypeBoolean, true).finalize();
  return d;
}

Descriptor Operations::value(std::size_t axes, std::int64_t number) const {
  Descriptor d = tensor(contiguous(std::vector<std::int64_t>(axes, 1)), kFloat, number, kAnyAlignment);
  d.set(kTensorByValue, kTypeBoolean, true).finalize();
  return d;
}

void Operations::pointwise(PointwiseMode mode, const Descriptor& x, const Pointwise& more, const Descriptor& y) {
  Descriptor kind(*api_, gpu::cudnn::kPointwise);
  kind.set(kPointwiseMode, kTypePointwiseMode, static_cast<int>(mode)).set(kPointwisePrecision, kTypeData, compute_);
  if (mode == kRelu) kind.set(kPointwiseNan, kTypeNan, kPropagateNan);  // ReLU propagates NaN
  if (more.axis >= 0) kind.set(kPointwiseAxis, kTypeInt64, more.axis);
  kind.finalize();
  Descriptor& operation = add(kPointwiseOperation);
  operation.set(kPointwiseDescriptor, kind).set(kPointwiseX, x).set(kPointwiseY, y);
  if (more.b != nullptr) operation.set(kPointwiseB, *more.b);
  if (more.t != nullptr) operation.set(kPointwiseT, *more.t);
  operation.finalize();
}

void Operations::matmul(const Descriptor& a, const Descriptor& b, const Descriptor& c) {
  Descriptor kind(*api_, kMatmul);
  kind.set(kMatmulType, kTypeData, compute_).finalize();
  add(kMatmulOperation).set(kMatmulDescriptor, kind).set(kMatmulA, a).set(kMatmulB, b).set(kMatmulC, c).finalize();
}

void Operations::reduce(int mode, const Descriptor& x, const Descriptor& y) {
  Descriptor kind(*api_, kReduction);
  kind.set(kReductionMode, kTypeReductionMode, mode).set(kReductionType, kTypeData, compute_).finalize();
  add(kReductionOperation).set(kReductionDescriptor, kind).set(kReductionX, x).set(kReductionY, y).finalize();
}

}  // namespace tern::gpu::cudnn
