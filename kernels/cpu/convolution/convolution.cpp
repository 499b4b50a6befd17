// Takes the algorithm of a convolution that costs least: channels last, if the planner laid the image so; tiles;
// planes, if each output has few input channels; native kernels of floats; the vendor kernel of oneDNN; columns.
// Quantized weights have a table of their own.
#include "kernels/cpu/contractions.h"
#include "kernels/cpu/convolution/algorithms.h"
#include "kernels/cpu/convolution/channels_last.h"
#include "kernels/cpu/convolution/costs.h"
#include "kernels/cpu/convolution/integers.h"
#include "kernels/cpu/convolution/quantized_tile_rows.h"
#include "kernels/cpu/convolution/tile_rows.h"
#include "kernels/cpu/convolution/transposed.h"
#include "kernels/cpu/dnnl/matmul.h"
#include "kernels/cpu/products/epilogue/unfused.h"
#include "kernels/cpu/products/gemm.h"

namespace tern::cpu {
namespace {

/// Cost of packing a weight element, as copied bytes.
constexpr double kPackedBytes = 32;

bool is_quantized(const KernelCall& c) {
  return c.in[1].blocks.columns != 0;
}

/// Costs nothing: the planner chose channels last, and all other algorithms would reorder the image.
double channels_last(const ConvolutionCall&, const Machine&) {
  return 0;
}
double tiles(const ConvolutionCall& c, const Machine& m) {
  if (m.tile_products == 0 || c.direct) return kOnRequest;
  const bool in_place = plane(c.problem.window, &WindowAxis::kernel) == 1;
  const double packed = c.packs && !in_place ? static_cast<double>(c.call.in[1].numel()) * kPackedBytes / m.bytes : 0;
  return c.products / m.tile_products + packed;
}
constexpr AlgorithmEntry<ConvolutionCall> kConvolutionTable[] = {
    {Algorithm::tile_rows, channels_last, convolution_by_tile_rows},
    {Algorithm::integer_rows, channels_last, convolution_of_integers},
    {Algorithm::channels_last, channels_last, convolution_channels_last},
    {Algorithm::winograd, channels_last, convolution_channels_last},
    {Algorithm::channels_last_tiles, channels_last, convolution_channels_last},
    {Algorithm::tiles, tiles, convolution_on_tiles},
    {Algorithm::planes, cost_of_planes, convolution_by_planes},
    {Algorithm::blocks, cost_of_blocks, convolution_by_blocks},
    {Algorithm::onednn, cost_of_onednn, convolution_by_onednn},
    {Algorithm::none, cost_of_columns, convolution_by_columns}};

/// Algorithms for quantized weights. Columns widen the weight to floats first.
constexpr AlgorithmEntry<ConvolutionCall> kOfQuantized[] = {
    {Algorithm::quantized, channels_last, convolution_by_quantized_rows},
    {Algorithm::quantized, channels_last, convolution_by_quantized},
    {Algorithm::none, cost_of_columns, convolution_by_columns}};

/// Algorithms for 8-bit results stored by an epilogue.
constexpr AlgorithmEntry<ConvolutionCall> kConvolutionStoringBytes[] = {
    {Algorithm::integer_rows, channels_last, convolution_of_integers}};

std::unique_ptr<KernelState> prepare_best_of_all(const KernelCall& c) {
  const ConvolutionCall call(c);
  if (is_quantized(c)) return prepare_best(kOfQuantized, call);
  return prepare_best(kConvolutionTable, call);
}

std::unique_ptr<KernelState> prepare(const KernelCall& c) {
  if (!makes_bytes(c)) return prepare_best_of_all(c);
  auto state = prepare_best(kConvolutionStoringBytes, ConvolutionCall(c));
  return state != nullptr ? std::move(state) : prepare_unfused(c, prepare_best_of_all);
}

bool makes_channels_last(const KernelCall& c) {
  const ConvolutionProblem problem = describe_convolution(c);
  if (problem.transposed) return TransposedChannelsLast::serves(c, problem);
  if (is_quantized(c)) return QuantizedTileRows::serves(c, channels_last_shape(problem));
  return IntegerConvolution::serves(c, problem) || wants_channels_last(c, channels_last_shape(problem));
}

bool takes_rounded(const KernelCall& c) {
  if (c.node->integer(AttrKey::transposed) != 0) return false;
  const channels_last::ChannelsLastShape convolution = channels_last_shape(describe_convolution(c));
  if (is_quantized(c)) return QuantizedTileRows::serves(c, convolution);
  return TileRowsConvolution::serves(c, convolution) || rounds_depthwise(c, convolution);
}

bool rounds(const KernelCall& c, std::size_t k) {
  return k == 0 && takes_rounded(c);
}

/// oneDNN is better at bfloat16, but not at depthwise volumes.
bool onednn_is_better(const KernelCall& c, const ConvolutionProblem& p) {
  return c.in[0].dtype == DType::bf16 && dnnl_cpu::native_bf16() && !(c.in[0].rank == 5 && p.in == 1);
}

bool is_direct(const KernelCall& c, const ConvolutionProblem& p) {
  return !is_quantized(c) && gemm_type(c.in[0].dtype) == DType::f32 && !onednn_is_better(c, p) && !p.transposed &&
         c.in[1].numel() != 0 && planes::is_direct(direct(p));
}

/// Columns widen a quantized weight to floats.
Widening widening(const KernelCall& c) {
  if (!is_quantized(c) || c.state == nullptr || c.state->algorithm.algorithm == Algorithm::quantized) return {};
  return {static_cast<std::uint64_t>(c.in[1].numel() * element_size(DType::f32)), false};
}

constexpr AlgorithmChoice kConvolutionAlgorithms[] = {{Algorithm::tiles},
                                                      {Algorithm::tile_rows},
                                                      {Algorithm::integer_rows},
                                                      {Algorithm::channels_last},
                                                      {Algorithm::channels_last, Variant::lines},
                                                      {Algorithm::channels_last, Variant::columns},
                                                      {Algorithm::channels_last, Variant::shallow},
                                                      {Algorithm::channels_last, Variant::deep},
                                                      {Algorithm::winograd},
                                                      {Algorithm::channels_last_tiles},
                                                      {Algorithm::planes},
                                                      {Algorithm::blocks},
                                                      {Algorithm::quantized},
                                                      {Algorithm::onednn}};

}  // namespace

ConvolutionCall::ConvolutionCall(const KernelCall& c)
    : call(c), problem(describe_convolution(c)), direct(is_direct(c, problem)) {
  floats = c.in[0].dtype == DType::f32 && c.in[1].dtype == DType::f32 && !problem.transposed;
  packs = c.constant == nullptr || !c.constant[1] || c.in[1].data == nullptr;
  // Each element of the forward convolution's result is a sum over its input channels and the kernel.
  const TensorView& sums = problem.transposed ? c.in[0] : c.out[0];
  products = static_cast<double>(sums.numel()) * static_cast<double>((problem.transposed ? problem.out : problem.in) *
                                                                     plane(problem.window, &WindowAxis::kernel));
}

std::vector<AlgorithmCost> convolution_costs(const KernelCall& c) {
  if (is_quantized(c) || gemm_type(c.in[0].dtype) != DType::f32 || c.in[0].numel() == 0 || c.in[1].numel() == 0 ||
      c.out[0].numel() == 0)
    return {};
  const ConvolutionCall call(c);
  const Machine& m = machine(c.precision);
  const double last = cost_of_reorders(call, true), first = cost_of_reorders(call, false);
  return {{{Algorithm::channels_last}, last + cost_of_channels_last(call, m)},
          {{Algorithm::winograd}, last + cost_of_winograd(call, m)},
          {{Algorithm::tiles}, first + tiles(call, m)},
          {{Algorithm::planes}, first + cost_of_planes(call, m)},
          {{Algorithm::blocks}, first + cost_of_blocks(call, m)},
          {{Algorithm::onednn}, first + cost_of_onednn(call, m)}};
}

std::unique_ptr<AlgorithmState> prepare_float_convolution(const KernelCall& call) {
  std::unique_ptr<KernelState> best = prepare_best(kConvolutionTable, ConvolutionCall(call));
  return std::unique_ptr<AlgorithmState>(static_cast<AlgorithmState*>(best.release()));
}

std::unique_ptr<PreparedAlgorithm> convolution_channels_last(const ConvolutionCall& c) {
  if (c.problem.transposed) return TransposedChannelsLast::create(c.call, c.problem);
  return ChannelsLastConvolution::create(c.call, channels_last_shape(c.problem));
}

std::unique_ptr<PreparedAlgorithm> convolution_of_integers(const ConvolutionCall& c) {
  return IntegerConvolution::create(c.call, c.problem);
}

std::unique_ptr<PreparedAlgorithm> convolution_by_tile_rows(const ConvolutionCall& c) {
  if (c.problem.transposed) return nullptr;
  return TileRowsConvolution::create(c.call, channels_last_shape(c.problem));
}

std::unique_ptr<PreparedAlgorithm> convolution_by_quantized_rows(const ConvolutionCall& c) {
  if (c.problem.transposed) return nullptr;
  return QuantizedTileRows::create(c.call, channels_last_shape(c.problem));
}

Kernel convolution_kernel() {
  return {.run = run_algorithm,
          .scratch = scratch_of_algorithm,
          .prepare = prepare,
          .strided = ~0b111u,
          .channels_last = makes_channels_last,
          .defers_weights = true,
          .algorithms = kConvolutionAlgorithms,
          .rounds = rounds,
          .stores_rounded = takes_rounded,
          .widening = widening};
}

}  // namespace tern::cpu
