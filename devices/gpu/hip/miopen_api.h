// Functions of MIOpen used by convolutions; tests/gpu/prototypes compares them with miopen.h, if installed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "devices/gpu/api.h"

namespace tern::gpu {

using MiopenHandle = void*;
using MiopenTensor = void*;       ///< miopenTensorDescriptor_t
using MiopenConvolution = void*;  ///< miopenConvolutionDescriptor_t

namespace miopen {
// miopenStatus_t
constexpr int kAllocFailed = 4;
// miopenDataType_t
constexpr int kHalf = 0, kFloat = 1, kBfloat16 = 5;
// miopenConvolutionMode_t: a cross-correlation
constexpr int kConvolution = 0;
}  // namespace miopen

/// miopenConvSolution_t.
struct MiopenSolution {
  float time = 0;  ///< estimated time in ms
  std::size_t workspace = 0;
  std::uint64_t id = 0;
  int algorithm = 0;
};

// Functions: X(name, suffix of the symbol, (parameters)).
#define TERN_GPU_MIOPEN_FUNCTIONS(X)                                                                                   \
  X(version, GetVersion, (std::size_t * major, std::size_t * minor, std::size_t * patch))                              \
  X(create, Create, (MiopenHandle * handle))                                                                           \
  X(set_stream, SetStream, (MiopenHandle handle, Stream stream))                                                       \
  X(tensor_create, CreateTensorDescriptor, (MiopenTensor * tensor))                                                    \
  X(tensor_set, SetTensorDescriptor, (MiopenTensor tensor, int type, int axes, const int* sizes, const int* strides))  \
  X(tensor_destroy, DestroyTensorDescriptor, (MiopenTensor tensor))                                                    \
  X(convolution_create, CreateConvolutionDescriptor, (MiopenConvolution * convolution))                                \
  X(convolution_set, InitConvolutionNdDescriptor,                                                                      \
    (MiopenConvolution convolution, int axes, const int* padding, const int* strides, const int* dilations, int mode)) \
  X(convolution_groups, SetConvolutionGroupCount, (MiopenConvolution convolution, int groups))                         \
  X(convolution_destroy, DestroyConvolutionDescriptor, (MiopenConvolution convolution))                                \
  X(solutions, ConvolutionForwardGetSolution,                                                                          \
    (MiopenHandle handle, MiopenTensor w, MiopenTensor x, MiopenConvolution convolution, MiopenTensor y,               \
     std::size_t most, std::size_t * count, MiopenSolution * solutions))                                               \
  X(compile, ConvolutionForwardCompileSolution,                                                                        \
    (MiopenHandle handle, MiopenTensor w, MiopenTensor x, MiopenConvolution convolution, MiopenTensor y,               \
     std::uint64_t solution))                                                                                          \
  X(convolve, ConvolutionForwardImmediate,                                                                             \
    (MiopenHandle handle, MiopenTensor w_tensor, const void* w, MiopenTensor x_tensor, const void* x,                  \
     MiopenConvolution convolution, MiopenTensor y_tensor, void* y, void* workspace, std::size_t bytes,                \
     std::uint64_t solution))

struct MiopenApi {
#define TERN_GPU_MEMBER(name, suffix, parameters) Status(*name) parameters = nullptr;
  TERN_GPU_MIOPEN_FUNCTIONS(TERN_GPU_MEMBER)
#undef TERN_GPU_MEMBER
};

}  // namespace tern::gpu
