// Algorithms of convolution. Each function prepares its algorithm for a node, or returns null.
#pragma once

#include <memory>

#include "kernels/cpu/algorithms.h"
#include "kernels/cpu/channels_last/convolve.h"
#include "kernels/cpu/convolution/problem.h"
#include "kernels/cpu/planes/convolve.h"

namespace tern::cpu {

/// Holds the properties for the choice of an algorithm.
struct ConvolutionCall {
  explicit ConvolutionCall(const KernelCall& call);
  const KernelCall& call;
  ConvolutionProblem problem;
  bool direct = false;  ///< dedicated loops: depthwise, few input channels, or one window per image
  bool floats = false;  ///< float and not transposed: suits blocks
  double products = 0;  ///< multiply-adds
  bool packs = false;   ///< the weight changes: algorithms with another weight order pack in each run
};

std::unique_ptr<PreparedAlgorithm> convolution_channels_last(const ConvolutionCall& c);
std::unique_ptr<PreparedAlgorithm> convolution_by_tile_rows(const ConvolutionCall& c);
std::unique_ptr<PreparedAlgorithm> convolution_of_integers(const ConvolutionCall& c);
std::unique_ptr<PreparedAlgorithm> convolution_on_tiles(const ConvolutionCall& c);
std::unique_ptr<PreparedAlgorithm> convolution_by_onednn(const ConvolutionCall& c);
/// True if oneDNN is there and takes the node.
bool onednn_computes(const ConvolutionCall& c);
std::unique_ptr<PreparedAlgorithm> convolution_by_planes(const ConvolutionCall& c);
std::unique_ptr<PreparedAlgorithm> convolution_by_blocks(const ConvolutionCall& c);
/// Serves quantized weights only.
std::unique_ptr<PreparedAlgorithm> convolution_by_quantized_rows(const ConvolutionCall& c);
std::unique_ptr<PreparedAlgorithm> convolution_by_quantized(const ConvolutionCall& c);
/// Prepares the best remaining algorithm for a variable float weight.
std::unique_ptr<AlgorithmState> prepare_float_convolution(const KernelCall& call);
/// Copies windows into the columns of a matrix and multiplies by the weight. Takes every node.
std::unique_ptr<PreparedAlgorithm> convolution_by_columns(const ConvolutionCall& c);

/// The depths of a volume are images of their own where windows have one.
inline channels_last::ChannelsLastShape channels_last_shape(const ConvolutionProblem& p) {
  channels_last::ChannelsLastShape c{p.window, p.batch, p.groups, p.in, p.out};
  const WindowAxis& depth = p.window[0];
  if (p.transposed || depth.kernel > 1 || depth.stride > 1 || depth.in != depth.out || depth.padding_before != 0)
    return c;
  c.batch *= depth.in;
  c.window[0] = {};
  return c;
}
inline planes::DirectConvolution direct(const ConvolutionProblem& p) {
  return {p.window, p.batch, p.groups, p.in, p.out};
}

}  // namespace tern::cpu
