// Kernel parameters of the stand-in for cuDNN: a validated convolution.
#pragma once

#include <tern/dtype.h>

#include <cstdint>

namespace tern::stand_in {

constexpr int kMostAxes = 5;

struct ImageCall {
  std::uint64_t address;
  std::int64_t sizes[kMostAxes], strides[kMostAxes];
};

struct ConvolutionCall {
  ImageCall x, w, y;
  std::uint64_t bias;  ///< 0: none
  std::uint64_t workspace, workspace_bytes;
  DType dtype;
  std::int32_t axes;  ///< spatial
  std::int64_t padding_before[3], strides[3], dilations[3];
  bool has_relu, keeps_nan;
  bool rounds;  ///< operands to TF32
};

constexpr const char* kConvolutionKernel = "stand_in_convolution";

}  // namespace tern::stand_in
