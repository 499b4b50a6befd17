// Declarations of cuDNN's graph API (cudnn_graph.h) used by Tern; tests/gpu/prototypes compares them with the header.
#pragma once

#include <cstddef>
#include <cstdint>

#include "devices/gpu/api.h"

namespace tern::gpu {

using CudnnHandle = void*;
using CudnnDescriptor = void*;

// Functions: X(name, suffix of the symbol, (parameters)).
#define TERN_GPU_CUDNN_FUNCTIONS(X)                                                                           \
  X(create, Create, (CudnnHandle * handle))                                                                   \
  X(set_stream, SetStream, (CudnnHandle handle, Stream stream))                                               \
  X(descriptor_create, BackendCreateDescriptor, (int kind, CudnnDescriptor* descriptor))                      \
  X(descriptor_destroy, BackendDestroyDescriptor, (CudnnDescriptor descriptor))                               \
  X(finalize, BackendFinalize, (CudnnDescriptor descriptor))                                                  \
  X(set, BackendSetAttribute,                                                                                 \
    (CudnnDescriptor descriptor, int name, int type, std::int64_t count, const void* values))                 \
  X(get, BackendGetAttribute,                                                                                 \
    (CudnnDescriptor descriptor, int name, int type, std::int64_t wanted, std::int64_t* count, void* values)) \
  X(execute, BackendExecute, (CudnnHandle handle, CudnnDescriptor plan, CudnnDescriptor pack))

struct CudnnApi {
#define TERN_GPU_MEMBER(name, suffix, parameters) Status(*name) parameters = nullptr;
  TERN_GPU_CUDNN_FUNCTIONS(TERN_GPU_MEMBER)
#undef TERN_GPU_MEMBER
};

namespace cudnn {

// cudnnBackendDescriptorType_t
enum Kind {
  kPointwise = 0,
  kConvolution = 1,
  kEngine = 2,
  kEngineConfig = 3,
  kHeuristic = 4,
  kPlan = 5,
  kConvolutionForward = 10,
  kPointwiseOperation = 13,
  kGraph = 15,
  kPack = 16,
  kTensor = 17,
  kMatmul = 18,
  kMatmulOperation = 19,
  kReduction = 21,
  kReductionOperation = 22,
};
// cudnnBackendAttributeType_t
enum Type {
  kTypeHandle = 0,
  kTypeData = 1,
  kTypeBoolean = 2,
  kTypeInt64 = 3,
  kTypeFloat = 4,
  kTypeDouble = 5,
  kTypePointer = 6,
  kTypeConvolutionMode = 7,
  kTypeHeuristicMode = 8,
  kTypeNan = 10,
  kTypeNote = 11,
  kTypePointwiseMode = 14,
  kTypeDescriptor = 15,
  kTypeReductionMode = 18,
  kTypeBehaviour = 19,
  kTypeChar = 24,
};
// cudnnBackendAttributeName_t
enum Attribute {
  kPointwiseMode = 0,
  kPointwisePrecision = 1,
  kPointwiseNan = 2,
  kPointwiseAxis = 9,
  kConvolutionType = 100,
  kConvolutionMode = 101,
  kConvolutionDilations = 102,
  kConvolutionStrides = 103,
  kConvolutionAfter = 104,
  kConvolutionBefore = 105,
  kConvolutionAxes = 106,
  kHeuristicMode = 200,
  kHeuristicGraph = 201,
  kHeuristicResults = 202,
  kHeuristicDevice = 204,
  kEngineConfigEngine = 300,
  kPlanHandle = 400,
  kPlanEngineConfig = 401,
  kPlanWorkspace = 402,
  kPlanJson = 405,
  kPlanDevice = 407,
  kForwardAlpha = 700,
  kForwardBeta = 701,
  kForwardConvolution = 702,
  kForwardW = 703,
  kForwardX = 704,
  kForwardY = 705,
  kPointwiseDescriptor = 750,
  kPointwiseX = 751,
  kPointwiseB = 752,
  kPointwiseY = 753,
  kPointwiseT = 758,
  kGraphHandle = 800,
  kGraphOperations = 801,
  kTensorAlignment = 900,
  kTensorType = 901,
  kTensorSizes = 902,
  kTensorStrides = 903,
  kTensorNumber = 906,
  kTensorVirtual = 907,
  kTensorByValue = 908,
  kPackNumbers = 1000,
  kPackAddresses = 1001,
  kPackWorkspace = 1003,
  kEngineIndex = 1301,
  kEngineNotes = 1303,
  kEngineBehaviours = 1305,
  kMatmulType = 1500,
  kMatmulA = 1520,
  kMatmulB = 1521,
  kMatmulC = 1522,
  kMatmulDescriptor = 1523,
  kReductionMode = 1600,
  kReductionType = 1601,
  kReductionX = 1610,
  kReductionY = 1611,
  kReductionDescriptor = 1612,
};
// cudnnDataType_t
enum Data { kFloat = 0, kDouble = 1, kHalf = 2, kInt32 = 4, kBfloat16 = 9, kBoolean = 11 };
constexpr int kCrossCorrelation = 1;  // cudnnConvolutionMode_t
// cudnnPointwiseMode_t
enum PointwiseMode {
  kAdd = 0,
  kMul = 1,
  kDiv = 6,
  kSub = 9,
  kExp = 13,
  kLog = 15,
  kRelu = 100,
  kCompareGe = 303,
  kGenIndex = 501,
  kSelect = 601,
};
constexpr int kReduceAdd = 0, kReduceMax = 3;  // cudnnReduceTensorOp_t
constexpr int kPropagateNan = 1;               // cudnnNanPropagation_t
// cudnnBackendHeurMode_t
constexpr int kModeA = 3, kModeB = 1, kModeFallback = 2;
// cudnnBackendNumericalNote_t: reasons for a float32 product being less exact than float32
constexpr int kTensorCore = 0, kDownConverts = 1, kReducesPrecision = 2;
constexpr int kCompiles = 0;  // cudnnBackendBehaviorNote_t: finalizing a plan compiles kernels

}  // namespace cudnn
}  // namespace tern::gpu
