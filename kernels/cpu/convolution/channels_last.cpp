#include "kernels/cpu/convolution/channels_last.h"

#include <algorithm>

#include "kernels/channels_last.h"
#include "kernels/cpu/channels_last/panels.h"
#include "kernels/cpu/convolution/costs.h"
#include "kernels/cpu/convolution/reordered.h"
#include "kernels/cpu/convolution/tile_rows.h"
#include "kernels/cpu/products/tiles/split_division.h"
#include "schema/epilogue.h"

namespace tern::cpu {
namespace {

bool takes_winograd(Algorithm asked, const channels_last::ChannelsLastShape& c) {
  if (asked == Algorithm::winograd) return channels_last::Winograd::allowed() && channels_last::Winograd::possible(c);
  return asked == Algorithm::none && channels_last::Winograd::suits(c) && !has_small_groups(c);
}

/// The convolution as a product of its positions, whose channels are rows.
tiles::TileLinearShape product_of(const channels_last::ChannelsLastShape& c) {
  return {c.batch * plane(c.window, &WindowAxis::out), c.out, c.in, c.in, c.in};
}

/// True if tiles gain more than the split of both operands and the reorder of results cost. Only for windows of one
/// element.
bool takes_tiles(const KernelCall& call, const channels_last::ChannelsLastShape& c) {
  constexpr double kNanoseconds = 1e9, kResultCost = 0.5;
  const Algorithm asked = call.algorithm.algorithm;
  const tiles::TileLinearShape s = product_of(c);
  const bool plain = is_every_position(c.window) && c.groups == 1 && call.in[1].contiguous();
  if (!plain || !tiles::SplitLinear::suits(s)) return false;
  if (asked != Algorithm::none) return asked == Algorithm::channels_last_tiles;
  const auto m = static_cast<double>(s.m), n = static_cast<double>(s.n), k = static_cast<double>(s.k);
  const double tile_products = m * n * k * tiles::kProductCost + m * k * tiles::kSplitCost + n * k * tiles::kLeftCost,
               on_vectors = m * n * k / machine(call.precision).products * kNanoseconds;
  return tile_products + m * n * kResultCost < on_vectors;
}

bool is_float_call(const KernelCall& call) {
  return std::ranges::all_of(call.in.first(std::min(call.in.size(), kEpilogueOperands)),
                             [](const TensorView& v) { return v.dtype == DType::f32 || v.dtype == DType::invalid; });
}

}  // namespace

bool tiles_gain(double intensity, const Machine& m) {
  if (m.tile_products <= m.products) return false;
  const double saved = intensity / 2 * (1 / m.products - 1 / m.tile_products);
  return intensity == 0 || saved >= m.plane_bytes / m.bytes;
}

bool rounds_depthwise(const KernelCall& call, const channels_last::ChannelsLastShape& c) {
  const TensorView &x = call.in[0], &w = call.in[1], &y = call.out[0];
  const auto fits = [](DType t) { return t == DType::f32 || t == DType::bf16; };
  const Algorithm asked = call.algorithm.algorithm;
  return call.precision == Precision::bfloat16 && rows_pay() && channels_last::has_narrow_depthwise(c) && x.rank >= 3 &&
         fits(x.dtype) && fits(y.dtype) && w.dtype == DType::f32 && x.numel() != 0 && y.numel() != 0 &&
         (!call.has_input(2) || call.in[2].dtype == DType::f32) &&
         (asked == Algorithm::none || asked == Algorithm::channels_last);
}

bool wants_channels_last(const KernelCall& call, const channels_last::ChannelsLastShape& c) {
  const TensorView& x = call.in[0];
  if (x.rank < 3 || x.rank > 5 || x.numel() == 0 || call.in[1].numel() == 0 || call.out[0].numel() == 0) return false;
  const Algorithm asked = call.algorithm.algorithm;
  if (rounds_depthwise(call, c)) return true;
  if (TileRowsConvolution::possible(call) && (asked == Algorithm::tile_rows || asked == Algorithm::none))
    return (is_float_call(call) && suits(c, true)) || TileRowsConvolution::serves(call, c);
  if (!is_float_call(call)) return false;
  if (asked == Algorithm::none) {
    const Machine& m = machine(call.precision);
    if (has_small_groups(c)) return true;
    if (m.tile_products > 0) return (is_volume(c) || !tiles_gain(call.intensity, m)) && suits(c, is_channels_last(x));
    return suits(c, true) && channels_last_pays(ConvolutionCall(call), m);
  }
  const bool lies_so =
      asked == Algorithm::channels_last || asked == Algorithm::channels_last_tiles || asked == Algorithm::winograd;
  return lies_so && suits(c, true);
}

std::unique_ptr<ChannelsLastConvolution> ChannelsLastConvolution::create(const KernelCall& call,
                                                                         const channels_last::ChannelsLastShape& c) {
  const bool rounds = rounds_depthwise(call, c);
  if (!wants_channels_last(call, c) || (!is_float_call(call) && !rounds)) return nullptr;
  auto made = otherwise(call, c);
  if (made == nullptr) return nullptr;
  made->choice.variant = made->convolution_.divide(call.algorithm.variant);
  made->rounds_ = rounds;
  if (takes_winograd(call.algorithm.algorithm, c)) {
    made->winograd_.emplace(c);
    made->choice = {Algorithm::winograd};
  }
  if (!made->winograd_ && takes_tiles(call, c)) {
    made->tiles_.emplace(product_of(c));
    made->choice = {Algorithm::channels_last_tiles};
    return made;
  }
  made->asks_ahead = !made->winograd_;
  made->panels_ = channels_last::constant_panels(call, c);
  made->unread = made->panels_ != nullptr ? 1u << 1 : 0;
  return made;
}

std::unique_ptr<ChannelsLastConvolution> ChannelsLastConvolution::otherwise(const KernelCall& call,
                                                                            const channels_last::ChannelsLastShape& c) {
  if (!has_channels_last(call.in[0]) || !has_channels_last(call.out[0])) return nullptr;
  auto made = std::make_unique<ChannelsLastConvolution>();
  made->convolution_ = c;
  made->choice = {Algorithm::channels_last};
  made->own_epilogue = true;
  made->epilogue_ = pointwise::Epilogue::create(Reordered(call).call());
  return made;
}

void ChannelsLastConvolution::reserve(const KernelCall&, ScratchArena& arena) const {
  if (winograd_) arena.allocate<std::byte>(static_cast<std::int64_t>(winograd_->scratch()));
}

RemainingWork ChannelsLastConvolution::run(KernelCall& call, ScratchArena& arena, const pointwise::Epilogue*) const {
  const Reordered reordered(call);
  const pointwise::BoundEpilogue finish{epilogue_.get(), &reordered.call()};
  if (rounds_) {
    channels_last::convolve_narrow_depthwise(convolution_,
                                             {.x = call.in[0].data,
                                              .y = call.out[0].data,
                                              .narrow_x = call.in[0].dtype == DType::bf16,
                                              .narrow_y = call.out[0].dtype == DType::bf16,
                                              .weight = call.in[1].data_as<const float>(),
                                              .bias = call.has_input(2) ? call.in[2].data_as<const float>() : nullptr,
                                              .panels = panels_.get(),
                                              .upcoming = call.upcoming},
                                             finish);
    return RemainingWork::nothing;
  }
  const channels_last::ChannelsLastOperands at{call.in[0].data_as<const float>(),
                                               call.in[1].data_as<const float>(),
                                               call.has_input(2) ? call.in[2].data_as<const float>() : nullptr,
                                               call.out[0].data_as<float>(),
                                               panels_.get(),
                                               call.upcoming};
  if (tiles_ && tiles_->run({at.x, at.weight, at.bias, at.y, finish}, nullptr)) return RemainingWork::nothing;
  auto* scratch = winograd_ ? arena.allocate<std::byte>(static_cast<std::int64_t>(winograd_->scratch())) : nullptr;
  if (winograd_ && winograd_->run(at, finish, scratch)) return RemainingWork::nothing;
  (goes_by_channels(convolution_) ? channels_last::convolve_depthwise : channels_last::convolve)(convolution_, at,
                                                                                                 finish);
  return RemainingWork::nothing;
}

}  // namespace tern::cpu
