#include "tests/gpu/libraries/cudnn/objects.h"

#include <algorithm>
#include <iterator>

#include "tests/gpu/libraries/driver.h"

namespace tern::stand_in {
namespace {

using namespace gpu::cudnn;

enum Presence { needed, optional };

/// Descriptor types of the "cuDNN backend API".
struct Rule {
  int kind, name, type;
  std::int64_t min_count, max_count;  ///< elements
  Presence presence;
};
constexpr Rule kRules[] = {
    {kTensor, kTensorType, kTypeData, 1, 1, needed},
    {kTensor, kTensorSizes, kTypeInt64, 4, 5, needed},
    {kTensor, kTensorStrides, kTypeInt64, 4, 5, needed},
    {kTensor, kTensorNumber, kTypeInt64, 1, 1, needed},
    {kTensor, kTensorAlignment, kTypeInt64, 1, 1, needed},
    {kTensor, kTensorVirtual, kTypeBoolean, 1, 1, optional},
    {kTensor, kTensorByValue, kTypeBoolean, 1, 1, optional},
    {kConvolution, kConvolutionType, kTypeData, 1, 1, needed},
    {kConvolution, kConvolutionMode, kTypeConvolutionMode, 1, 1, needed},
    {kConvolution, kConvolutionAxes, kTypeInt64, 1, 1, needed},
    {kConvolution, kConvolutionBefore, kTypeInt64, 2, 3, needed},
    {kConvolution, kConvolutionAfter, kTypeInt64, 2, 3, needed},
    {kConvolution, kConvolutionStrides, kTypeInt64, 2, 3, needed},
    {kConvolution, kConvolutionDilations, kTypeInt64, 2, 3, needed},
    {kConvolutionForward, kForwardX, kTypeDescriptor, 1, 1, needed},
    {kConvolutionForward, kForwardW, kTypeDescriptor, 1, 1, needed},
    {kConvolutionForward, kForwardY, kTypeDescriptor, 1, 1, needed},
    {kConvolutionForward, kForwardConvolution, kTypeDescriptor, 1, 1, needed},
    {kConvolutionForward, kForwardAlpha, kTypeFloat, 1, 1, optional},
    {kConvolutionForward, kForwardBeta, kTypeFloat, 1, 1, optional},
    {kConvolutionForward, kForwardAlpha, kTypeDouble, 1, 1, optional},
    {kConvolutionForward, kForwardBeta, kTypeDouble, 1, 1, optional},
    {kPointwise, kPointwiseMode, kTypePointwiseMode, 1, 1, needed},
    {kPointwise, kPointwisePrecision, kTypeData, 1, 1, needed},
    {kPointwise, kPointwiseNan, kTypeNan, 1, 1, optional},
    {kPointwise, kPointwiseAxis, kTypeInt64, 1, 1, optional},
    {kPointwiseOperation, kPointwiseDescriptor, kTypeDescriptor, 1, 1, needed},
    {kPointwiseOperation, kPointwiseX, kTypeDescriptor, 1, 1, needed},
    {kPointwiseOperation, kPointwiseB, kTypeDescriptor, 1, 1, optional},
    {kPointwiseOperation, kPointwiseT, kTypeDescriptor, 1, 1, optional},
    {kPointwiseOperation, kPointwiseY, kTypeDescriptor, 1, 1, needed},
    {kMatmul, kMatmulType, kTypeData, 1, 1, needed},
    {kMatmulOperation, kMatmulDescriptor, kTypeDescriptor, 1, 1, needed},
    {kMatmulOperation, kMatmulA, kTypeDescriptor, 1, 1, needed},
    {kMatmulOperation, kMatmulB, kTypeDescriptor, 1, 1, needed},
    {kMatmulOperation, kMatmulC, kTypeDescriptor, 1, 1, needed},
    {kReduction, kReductionMode, kTypeReductionMode, 1, 1, needed},
    {kReduction, kReductionType, kTypeData, 1, 1, needed},
    {kReductionOperation, kReductionDescriptor, kTypeDescriptor, 1, 1, needed},
    {kReductionOperation, kReductionX, kTypeDescriptor, 1, 1, needed},
    {kReductionOperation, kReductionY, kTypeDescriptor, 1, 1, needed},
    {kGraph, kGraphOperations, kTypeDescriptor, 1, 32, needed},
    {kGraph, kGraphHandle, kTypeHandle, 1, 1, needed},
    {kHeuristic, kHeuristicGraph, kTypeDescriptor, 1, 1, needed},
    {kHeuristic, kHeuristicMode, kTypeHeuristicMode, 1, 1, needed},
    {kPlan, kPlanHandle, kTypeHandle, 1, 1, needed},
    {kPlan, kPlanEngineConfig, kTypeDescriptor, 1, 1, optional},
    {kPlan, kPlanJson, kTypeChar, 1, 1 << 20, optional},
    {kPack, kPackNumbers, kTypeInt64, 1, 16, needed},
    {kPack, kPackAddresses, kTypePointer, 1, 16, needed},
    {kPack, kPackWorkspace, kTypePointer, 1, 1, needed},
};

std::size_t bytes_of(int type) {
  switch (type) {
    case kTypeBoolean:
    case kTypeChar: return 1;
    case kTypeInt64:
    case kTypeDouble:
    case kTypeHandle:
    case kTypePointer:
    case kTypeDescriptor: return 8;
    default: return 4;  // float, enums
  }
}

}  // namespace

ObjectPointer create_object(int kind) {
  auto object = std::make_shared<Object>();
  object->kind = kind;
  return object;
}

ObjectPointer& find(gpu::CudnnDescriptor handle) {
  if (handle == nullptr) misuse("cuDNN: null instead of a descriptor");
  return *static_cast<ObjectPointer*>(handle);
}

void set(Object& object, int name, int type, std::int64_t count, const void* values) {
  if (object.is_final) misuse("cuDNN: attribute %d is set after the descriptor was finalized", name);
  const auto* rule = std::ranges::find_if(
      kRules, [&](const Rule& r) { return r.kind == object.kind && r.name == name && r.type == type; });
  if (rule == std::end(kRules))
    misuse("cuDNN: attribute %d of type %d for a descriptor of kind %d", name, type, object.kind);
  if (count < rule->min_count || count > rule->max_count || values == nullptr)
    misuse("cuDNN: %lld values for attribute %d", static_cast<long long>(count), name);
  Value& value = object.values[name];
  if (type == kTypeDescriptor) {
    for (std::int64_t i = 0; i < count; ++i) {
      ObjectPointer& part = find(static_cast<const gpu::CudnnDescriptor*>(values)[i]);
      if (!part->is_final) misuse("cuDNN: attribute %d is a descriptor that was not finalized", name);
      value.objects.push_back(part);
    }
    return;
  }
  const auto* first = static_cast<const char*>(values);
  value.bytes.assign(first, first + bytes_of(type) * static_cast<std::size_t>(count));
}

void finalize(Object& object) {
  for (const Rule& r : kRules)
    if (r.kind == object.kind && r.presence == needed && !object.has_value(r.name))
      misuse("cuDNN: a descriptor of kind %d without attribute %d", object.kind, r.name);
  object.is_final = true;
}

}  // namespace tern::stand_in
