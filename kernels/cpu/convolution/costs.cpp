#include "kernels/cpu/convolution/costs.h"

#include <algorithm>

#include "kernels/channels_last.h"
#include "kernels/cpu/channels_last/winograd.h"
#include "kernels/cpu/products/float32/strided_microkernel.h"

namespace tern::cpu {
namespace {

// Shares of the machine's products that the innermost loops reach.
constexpr double kOfPlanes = 0.78, kOfDepthwisePlanes = 0.65, kConvolutionOfBlocks = 0.75, kOfOneDnn = 0.85,
                 kOfTransposedOneDnn = 0.4, kOfColumns = 0.3, kConvolutionOfPanels = 0.8, kOfDepthwiseLoops = 0.75,
                 kOfWinograd = 0.68, kOfRoundedRows = 0.82;
/// Floats that a reorder of axes moves a second, between channels last and row-major.
constexpr double kReordered = 5e9;
/// Elements of a sum that take as long as the start and the end of a tile of sums.
constexpr double kTileEnds = 8;
/// Rows of a product that cost as much as one.
constexpr double kFewestRows = 2;
/// Factor by which oneDNN must be faster: its threads wait busily, which slows the nodes that follow.
constexpr double kWaiting = 1.2;

// Moves of an element, each as long as one in a reorder of many channels.
constexpr double kMovesOfPlanes = 0.6, kMovesOfBlocks = 1.5, kMovesOfOneDnn = 1.2, kMovesOfColumns = 1.5,
                 kMovesOfBand = 0.5, kMovesOfPanel = 0.5, kMovesOfDepthwise = 0.4;

// Moves of an element of the weight: one that is packed in each run; one of oneDNN's copy; one of the copy for Winograd
// tiles, which has four elements for one of the weight.
constexpr double kMovesOfPackedWeight = 2, kMovesOfOneDnnWeight = 0.85, kMovesOfWinogradWeight = 2.4,
                 kMovesOfRoundedWeight = 0.5;

// Seconds of a plane, and of a call.
constexpr double kOfPlane = 60e-9, kOfChannelsLastCall = 5e-6, kOfOneDnnCall = 5e-6;

/// Sizes as floating-point numbers.
struct ConvolutionSizes {
  double image, result, weight, positions,
      elements;  ///< elements of all images, results and weights; windows; elements of a sum
  explicit ConvolutionSizes(const ConvolutionCall& c)
      : image(static_cast<double>(c.call.in[0].numel())),
        result(static_cast<double>(c.call.out[0].numel())),
        weight(static_cast<double>(c.call.in[1].numel())),
        positions(result / static_cast<double>(std::max<std::int64_t>(1, c.problem.groups * c.problem.out))),
        elements(static_cast<double>(
            std::max<std::int64_t>(1, c.problem.in * plane(c.problem.window, &WindowAxis::kernel)))) {}
};

double tile_ends(const ConvolutionSizes& s) {
  return 1 + kTileEnds / s.elements;
}

double time_of_moves(double elements) {
  return elements / kReordered;
}

std::int64_t channels_up_to(std::int64_t n, std::int64_t step) {
  return (n + step - 1) / step * step;
}

bool reads_every_position(const ConvolutionCall& c) {
  return is_every_position(c.problem.window);
}

}  // namespace

double cost_of_planes(const ConvolutionCall& c, const Machine& m) {
  if (!c.direct) return kOnRequest;
  const ConvolutionSizes s(c);
  const double share = c.problem.in == 1 && c.problem.out == 1 ? kOfDepthwisePlanes : kOfPlanes;
  return c.products / m.products / share + time_of_moves(kMovesOfPlanes * (s.image + s.result)) +
         static_cast<double>(c.problem.batch * c.problem.groups) * kOfPlane;
}

double cost_of_blocks(const ConvolutionCall& c, const Machine& m) {
  if (!c.floats) return kOnRequest;
  const ConvolutionSizes s(c);
  const double rows = std::max(kFewestRows / static_cast<double>(std::max<std::int64_t>(1, c.problem.out)), 1.0);
  const double packed = reads_every_position(c) ? 0 : s.positions * s.elements * static_cast<double>(c.problem.groups);
  return rows * c.products * tile_ends(s) / m.products / kConvolutionOfBlocks +
         time_of_moves(packed + kMovesOfBlocks * s.result + kMovesOfPackedWeight * s.weight);
}

double cost_of_onednn(const ConvolutionCall& c, const Machine& m) {
  if (!onednn_computes(c)) return kOnRequest;
  const ConvolutionSizes s(c);
  const ConvolutionProblem& p = c.problem;
  const double moves = kMovesOfOneDnn * (s.image + s.result) + kMovesOfOneDnnWeight * s.weight;
  double share = p.transposed ? kOfTransposedOneDnn : kOfOneDnn;
  if (p.transposed && (p.in > 1 || p.out > 1)) {
    constexpr std::int64_t kBlock = 16;  // channels that are multiplied together
    const auto filled = [](std::int64_t n) {
      return static_cast<double>(n) / static_cast<double>(channels_up_to(n, kBlock));
    };
    share *= filled(p.in) * filled(p.out);
  }
  return kWaiting * (c.products / m.products / share + time_of_moves(moves) + kOfOneDnnCall);
}

double cost_of_columns(const ConvolutionCall& c, const Machine& m) {
  const ConvolutionSizes s(c);
  const double copied = s.positions * s.elements * static_cast<double>(c.problem.groups);
  return c.products / m.products / kOfColumns + time_of_moves(kMovesOfColumns * copied);
}

double cost_of_channels_last(const ConvolutionCall& c, const Machine& m) {
  const ConvolutionProblem& p = c.problem;
  const ConvolutionSizes s(c);
  const channels_last::ChannelsLastShape shape = channels_last_shape(p);
  if (!p.transposed && channels_last::goes_by_channels(shape))
    return c.products / m.products / kOfDepthwiseLoops + time_of_moves(kMovesOfDepthwise * (s.image + s.result)) +
           kOfChannelsLastCall;
  const std::int64_t half = strided_product::micro_kernels().columns / 2;
  const double padded = static_cast<double>(channels_up_to(p.out, half)) / static_cast<double>(p.out);
  const double products = padded * c.products * tile_ends(s) / m.products / kConvolutionOfPanels;
  const double band = reads_every_position(c) ? 0 : kMovesOfBand * s.image;
  return products + time_of_moves(band + kMovesOfPanel * s.weight) + kOfChannelsLastCall;
}

double cost_of_winograd(const ConvolutionCall& c, const Machine& m) {
  const channels_last::ChannelsLastShape shape = channels_last_shape(c.problem);
  if (c.problem.transposed || channels_last::goes_by_channels(shape) || !channels_last::Winograd::suits(shape))
    return kOnRequest;
  return channels_last::Winograd::cost(shape) / m.products / kOfWinograd +
         time_of_moves(kMovesOfWinogradWeight * static_cast<double>(c.call.in[1].numel())) + kOfChannelsLastCall;
}

double cost_of_rounded_rows(const ConvolutionCall& c, const Machine& m) {
  constexpr double kProductsTogether = 2;  // a step multiplies twice as many numbers of bfloat16 as floats
  return c.products / (kProductsTogether * m.products) / kOfRoundedRows +
         time_of_moves(kMovesOfRoundedWeight * static_cast<double>(c.call.in[1].numel())) + kOfChannelsLastCall;
}

double cost_of_reorders(const ConvolutionCall& c, bool channels_last) {
  constexpr std::int64_t kFewChannels = 8;
  constexpr double kOfFewChannels = 1.5;  // moves of an element of few channels
  const auto cost = [&](const TensorView& v) {
    const double single = v.size(1) == 1 || v.numel() == v.size(0) * v.size(1) ? 0 : 1;
    return single * time_of_moves((v.size(1) < kFewChannels ? kOfFewChannels : 1) * static_cast<double>(v.numel()));
  };
  double seconds = 0;
  if (is_channels_last(c.call.in[0]) != channels_last) seconds += cost(c.call.in[0]);
  if (is_channels_last(c.call.out[0]) != channels_last) seconds += cost(c.call.out[0]);
  return seconds;
}

bool channels_last_pays(const ConvolutionCall& c, const Machine& m) {
  const double others = std::min({cost_of_planes(c, m), cost_of_blocks(c, m), cost_of_onednn(c, m)});
  return std::min(cost_of_channels_last(c, m), cost_of_winograd(c, m)) + cost_of_reorders(c, true) <
         others + cost_of_reorders(c, false);
}

}  // namespace tern::cpu
