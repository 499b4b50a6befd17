#include "kernels/cpu/convolution/transposed.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/cpu/convolution/costs.h"
#include "kernels/cpu/convolution/reordered.h"
#include "kernels/cpu/products/float32/strided_microkernel.h"
#include "kernels/cpu/products/packed_weight.h"

namespace tern::cpu {

bool TransposedChannelsLast::serves(const KernelCall& call, const ConvolutionProblem& p) {
  constexpr std::int64_t kMostPhases = 64;
  const TensorView &x = call.in[0], &w = call.in[1], &y = call.out[0];
  const auto is_float = [&](std::size_t i) { return call.in[i].dtype == DType::f32; };
  const Algorithm asked = call.algorithm.algorithm;
  const bool suits = p.transposed && (x.rank == 3 || x.rank == 4) && is_float(0) && is_float(1) &&
                     (!call.has_input(2) || is_float(2)) && y.dtype == DType::f32 && w.blocks.columns == 0 &&
                     x.numel() != 0 && w.numel() != 0 && y.numel() != 0 &&
                     (asked == Algorithm::none || asked == Algorithm::channels_last) &&
                     p.window[1].stride * p.window[2].stride <= kMostPhases;
  return suits && (asked != Algorithm::none || channels_last_pays(ConvolutionCall(call), machine(call.precision)));
}

std::unique_ptr<TransposedChannelsLast> TransposedChannelsLast::create(const KernelCall& call,
                                                                       const ConvolutionProblem& p) {
  if (!serves(call, p) || !has_channels_last(call.in[0]) || !has_channels_last(call.out[0])) return nullptr;
  std::unique_ptr<TransposedChannelsLast> made(new TransposedChannelsLast(p));
  made->choice = {Algorithm::channels_last};
  made->own_epilogue = true;
  made->epilogue_ = pointwise::Epilogue::create(Reordered(call).call());
  const TensorView& w = call.in[1];
  if (call.constant == nullptr || !call.constant[1] || w.data == nullptr || !w.contiguous()) return made;
  std::string key = fmt::format("transposed in panels of {}: {} x {} of {}", strided_product::micro_kernels().columns,
                                p.groups, p.out, p.in);
  for (const WindowAxis& a : {p.window[1], p.window[2]})
    key += fmt::format(", {} by {}, {} by {} from {}", a.kernel, a.dilation, std::min(a.stride, a.in), a.stride,
                       a.padding_before % a.stride);
  made->unread = 1u << 1;
  made->weight_ =
      tiles::packed_weight(call, 1, key, made->convolution_.packed_floats() * static_cast<std::int64_t>(sizeof(float)),
                           [convolution = made->convolution_, weight = w.data_as<const float>()](std::byte* to) {
                             convolution.pack(weight, reinterpret_cast<float*>(to));
                           });
  return made;
}

void TransposedChannelsLast::reserve(const KernelCall&, ScratchArena& arena) const {
  if (weight_ == nullptr) arena.allocate<float>(convolution_.packed_floats());
}

RemainingWork TransposedChannelsLast::run(KernelCall& call, ScratchArena& arena, const pointwise::Epilogue*) const {
  const auto* panels = reinterpret_cast<const float*>(weight_.get());
  if (panels == nullptr) {
    auto* packed = arena.allocate<float>(convolution_.packed_floats());
    convolution_.pack(call.in[1].data_as<const float>(), packed);
    panels = packed;
  }
  const Reordered reordered(call);
  convolution_.run({.x = call.in[0].data_as<const float>(),
                    .weight = nullptr,
                    .bias = call.has_input(2) ? call.in[2].data_as<const float>() : nullptr,
                    .y = call.out[0].data_as<float>(),
                    .panels = panels,
                    .upcoming = {}},
                   {epilogue_.get(), &reordered.call()});
  return RemainingWork::nothing;
}

}  // namespace tern::cpu
