#include "kernels/cpu/convolution/tile_rows.h"

#include <fmt/format.h>

#include <vector>

#include "kernels/cpu/convolution/channels_last.h"
#include "kernels/cpu/convolution/costs.h"
#include "kernels/cpu/convolution/tile_call.h"
#include "kernels/cpu/products/packed_weight.h"

namespace tern::cpu {
namespace {

/// True if Winograd tiles of floats are faster than vectors of bfloat16, which the image would be rounded to.
bool floats_are_faster(const KernelCall& call) {
  const Machine& m = machine(call.precision);
  if (m.tile_products > 0 || call.in[0].dtype != DType::f32 || call.in[1].dtype != DType::f32) return false;
  const ConvolutionCall c(call);
  return cost_of_winograd(c, m) < cost_of_rounded_rows(c, m);
}

}  // namespace

bool TileRowsConvolution::possible(const KernelCall& call) {
  if (!(call.algorithm == Algorithm::tile_rows ? tiles::rows_possible() : rows_pay())) return false;
  const auto has = [&](std::size_t i, DType type) { return call.in[i].dtype == type; };
  return (call.precision == Precision::bfloat16 && (has(1, DType::f32) || has(1, DType::bf16))) ||
         (has(0, DType::bf16) && has(1, DType::bf16));
}

bool TileRowsConvolution::suits(const KernelCall& call, const channels_last::ChannelsLastShape& c) {
  return possible(call) && !has_small_groups(c) && tiles::RowConvolution::suits(tile_shape(c));
}

bool TileRowsConvolution::serves(const KernelCall& call, const channels_last::ChannelsLastShape& c) {
  const TensorView& w = call.in[1];
  const bool has_constant_weight = call.constant != nullptr && call.constant[1] && w.data != nullptr && w.contiguous();
  const TensorView& x = call.in[0];
  const bool is_image =
      x.rank >= 3 && !channels_last::is_volume(c) && x.numel() != 0 && w.numel() != 0 && call.out[0].numel() != 0;
  const Algorithm requested = call.algorithm.algorithm;
  if (!is_image || !has_constant_weight || !suits(call, c)) return false;
  return requested == Algorithm::tile_rows || (requested == Algorithm::none && !floats_are_faster(call));
}

std::unique_ptr<TileRowsConvolution> TileRowsConvolution::create(const KernelCall& call,
                                                                 const channels_last::ChannelsLastShape& c) {
  if (!serves(call, c) || !has_channels_last(call.in[0]) || !has_channels_last(call.out[0])) return nullptr;
  const TensorView& w = call.in[1];
  FloatCall floats(call);
  auto fallback = ChannelsLastConvolution::otherwise(floats.call(), c);
  if (fallback == nullptr) return nullptr;
  std::unique_ptr<TileRowsConvolution> result(new TileRowsConvolution(tile_shape(c)));
  result->otherwise_ = std::move(fallback);
  result->choice = {Algorithm::tile_rows};
  result->unread = 1u << 1;
  result->own_epilogue = true;
  result->epilogue_ = pointwise::Epilogue::create(Reordered(call).call());
  const std::string key = fmt::format("{} rows: {} of {}, {} x {}, {}", tiles::kPackedLayout, c.groups * c.out, c.in,
                                      c.window[1].kernel, c.window[2].kernel, c.window[2].dilation == 1);
  result->weight_ = tiles::packed_weight(call, 1, key, result->convolution_.packed_bytes(),
                                         [convolution = result->convolution_, w](std::byte* to) {
                                           std::vector<float> floats(static_cast<std::size_t>(w.numel()));
                                           to_dense(w, DType::f32, floats.data());
                                           convolution.pack(floats.data(), to);
                                         });
  return result;
}

void TileRowsConvolution::reserve(const KernelCall& call, ScratchArena& arena) const {
  arena.allocate<std::byte>(static_cast<std::int64_t>(convolution_.scratch()));
  if (call.has_input(2)) arena.allocate<float>(call.in[2].numel());
  otherwise_->reserve(call, arena);
}

RemainingWork TileRowsConvolution::run(KernelCall& call, ScratchArena& arena, const pointwise::Epilogue*) const {
  auto* scratch = arena.allocate<std::byte>(static_cast<std::int64_t>(convolution_.scratch()));
  float* bias = call.has_input(2) ? arena.allocate<float>(call.in[2].numel()) : nullptr;
  if (convolve_on_tiles(convolution_, call, weight_.get(), bias, epilogue_.get(), scratch))
    return RemainingWork::nothing;
  // A result is not finite: computes the node in float32. The weight was never loaded, so unpacks it.
  std::vector<float> weight(static_cast<std::size_t>(call.in[1].numel()));
  convolution_.unpack(weight_.get(), weight.data());
  convolve_by_floats(call, std::move(weight), *otherwise_, arena);
  return RemainingWork::nothing;
}

}  // namespace tern::cpu
