// The algorithms of convolution. Each prepares itself for a node, or declines: null.
#pragma once

#include <memory>

#include "kernels/cpu/algorithms.h"
#include "kernels/cpu/channels_last/convolve.h"
#include "kernels/cpu/convolution/problem.h"
#include "kernels/cpu/planes/convolve.h"

namespace tern::cpu {

/// What the algorithms decide by.
struct ConvolutionCall {
  explicit ConvolutionCall(const KernelCall& call);
  const KernelCall& call;
  ConvolutionProblem problem;
  bool direct = false;  ///< depthwise, of few input channels, or of an image that is one window: by loops of its own
  bool floats = false;  ///< and not transposed: blocks can do it
  double products = 0;
  bool packs = false;  ///< the weight changes: an algorithm that wants it in another order packs it in each run
};

std::unique_ptr<PreparedAlgorithm> convolution_channels_last(const ConvolutionCall& c);
std::unique_ptr<PreparedAlgorithm> convolution_by_tile_rows(const ConvolutionCall& c);
std::unique_ptr<PreparedAlgorithm> convolution_of_integers(const ConvolutionCall& c);
std::unique_ptr<PreparedAlgorithm> convolution_on_tiles(const ConvolutionCall& c);
std::unique_ptr<PreparedAlgorithm> convolution_by_onednn(const ConvolutionCall& c);
std::unique_ptr<PreparedAlgorithm> convolution_by_planes(const ConvolutionCall& c);
std::unique_ptr<PreparedAlgorithm> convolution_by_blocks(const ConvolutionCall& c);
/// Only a quantized weight.
std::unique_ptr<PreparedAlgorithm> convolution_by_quantized_rows(const ConvolutionCall& c);
std::unique_ptr<PreparedAlgorithm> convolution_by_quantized(const ConvolutionCall& c);
/// The best of the others, for a weight of floats that changes.
std::unique_ptr<AlgorithmState> prepare_float_convolution(const KernelCall& call);
/// Windows are copied into the columns of a matrix, which is multiplied by the weight: takes every node.
std::unique_ptr<PreparedAlgorithm> convolution_by_columns(const ConvolutionCall& c);

inline channels_last::Convolution with_channels_last(const ConvolutionProblem& p) {
  return {p.window, p.batch, p.groups, p.in, p.out};
}
inline planes::DirectConvolution direct(const ConvolutionProblem& p) {
  return {p.window, p.batch, p.groups, p.in, p.out};
}

}  // namespace tern::cpu
