// Estimated seconds of the algorithms of convolution on one thread.
#pragma once

#include <vector>

#include "kernels/algorithm_costs.h"
#include "kernels/cpu/convolution/algorithms.h"
#include "kernels/cpu/machine.h"

namespace tern::cpu {

double cost_of_planes(const ConvolutionCall& c, const Machine& m);
double cost_of_blocks(const ConvolutionCall& c, const Machine& m);
double cost_of_onednn(const ConvolutionCall& c, const Machine& m);
double cost_of_columns(const ConvolutionCall& c, const Machine& m);
/// Between channels-last views, by loops over channels or by products.
double cost_of_channels_last(const ConvolutionCall& c, const Machine& m);
/// The same by Winograd tiles; infinite where Winograd::suits is false.
double cost_of_winograd(const ConvolutionCall& c, const Machine& m);
/// Between channels-last views in bfloat16, by the vectors of a processor without matrix tiles.
double cost_of_rounded_rows(const ConvolutionCall& c, const Machine& m);

/// Reorders of the image and the result, with channels last or not, for views in the order in which the image lies and
/// the readers of the result take it.
double cost_of_reorders(const ConvolutionCall& c, bool channels_last);

/// Estimates of a float convolution's algorithms, reorders included; empty for other types.
std::vector<AlgorithmCost> convolution_costs(const KernelCall& call);

/// True if channels last costs less than every other algorithm, reorders included.
bool channels_last_pays(const ConvolutionCall& c, const Machine& m);

}  // namespace tern::cpu
