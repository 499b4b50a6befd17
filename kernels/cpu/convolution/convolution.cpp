// convolution, by the first of its algorithms that takes the node: channels last, where the planner laid the image so;
// tiles; oneDNN, where none of those behind it serves; planes, where each output has few input channels; own products
// of floats; columns.
#include "kernels/cpu/contractions.h"
#include "kernels/cpu/convolution/algorithms.h"
#include "kernels/cpu/convolution/channels_last.h"
#include "kernels/cpu/dnnl/matmul.h"
#include "kernels/cpu/matmul/gemm.h"

namespace tern::cpu {
namespace {

constexpr std::unique_ptr<Algorithm> (*kAlgorithms[])(const ConvolutionCall&) = {
    convolution_channels_last, convolution_on_tiles,  convolution_by_onednn,
    convolution_by_planes,     convolution_by_blocks, convolution_by_columns};

std::unique_ptr<KernelState> prepare(const KernelCall& c) {
  return prepare_first<ConvolutionCall>(kAlgorithms, ConvolutionCall(c));
}

bool makes_channels_last(const KernelCall& c) {
  return c.node->integer(AttrKey::transposed) == 0 &&
         wants_channels_last(c, with_channels_last(describe_convolution(c)));
}

bool is_direct(const KernelCall& c, const ConvolutionProblem& p) {
  const DType type = c.in[0].dtype;
  return gemm_type(type) == DType::f32 && !(type == DType::bf16 && dnnl_cpu::native_bf16()) && !p.transposed &&
         c.in[1].numel() != 0 && planes::is_direct(direct(p));
}

/// Channels of a group's result from which the own product is taken: oneDNN is better at depthwise convolutions.
constexpr std::int64_t kOwnChannels = 8;

constexpr Way kWays[] = {Way::tiles,
                         Way::channels_last,
                         Way::channels_last_lines,
                         Way::channels_last_columns,
                         Way::channels_last_shallow,
                         Way::channels_last_deep,
                         Way::winograd,
                         Way::planes,
                         Way::blocks,
                         Way::onednn};

}  // namespace

ConvolutionCall::ConvolutionCall(const KernelCall& c)
    : call(c), problem(describe_convolution(c)), direct(is_direct(c, problem)) {
  floats = c.in[0].dtype == DType::f32 && c.in[1].dtype == DType::f32 && !problem.transposed;
}

Way own_way(const ConvolutionCall& c, Way wanted) {
  if (c.direct && (wanted != Way::blocks || !c.floats)) return Way::planes;
  const bool many = c.problem.out >= kOwnChannels;
  return c.floats && (many || wanted == Way::blocks) ? Way::blocks : Way::none;
}

std::unique_ptr<Algorithm> convolution_channels_last(const ConvolutionCall& c) {
  if (c.problem.transposed) return nullptr;
  return ChannelsLastConvolution::make(c.call, with_channels_last(c.problem));
}

Kernel convolution_kernel() {
  return {.run = run_algorithm,
          .scratch = scratch_of_algorithm,
          .prepare = prepare,
          .strided = ~0b111u,
          .channels_last = makes_channels_last,
          .defers_weights = true,
          .ways = kWays};
}

}  // namespace tern::cpu
