#include "kernels/cpu/convolution/transposed.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/cpu/convolution/costs.h"
#include "kernels/cpu/convolution/operands.h"
#include "kernels/cpu/convolution/reordered.h"
#include "kernels/cpu/dense.h"
#include "kernels/cpu/products/float32/strided_microkernel.h"
#include "kernels/cpu/products/packed_weight.h"

namespace tern::cpu {
bool TransposedChannelsLast::serves(const KernelCall& call, const ConvolutionProblem& p) {
  constexpr std::int64_t kMostPhases = 64;
  const TensorView &x = call.in[0], &w = call.in[1], &y = call.out[0];
  const DType t = x.dtype;
  const Algorithm asked = call.algorithm.algorithm;
  const bool suits = p.transposed && (x.rank == 3 || x.rank == 4) && (t == DType::f32 || t == DType::bf16) &&
                     w.dtype == t && (!call.has_input(2) || call.in[2].dtype == t) && y.dtype == t &&
                     w.blocks.columns == 0 && x.numel() != 0 && w.numel() != 0 && y.numel() != 0 &&
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
                           [convolution = made->convolution_, w](std::byte* to) {
                             auto* panels = reinterpret_cast<float*>(to);
                             if (w.dtype == DType::f32) return convolution.pack(w.data_as<const float>(), panels);
                             std::vector<float> widened(static_cast<std::size_t>(w.numel()));
                             to_dense(w, DType::f32, widened.data());
                             convolution.pack(widened.data(), panels);
                           });
  return made;
}

void TransposedChannelsLast::reserve(const KernelCall& call, ScratchArena& arena) const {
  const ConvolutionOperands operands(call, DType::f32, weight_ == nullptr, arena);
  if (weight_ == nullptr) arena.allocate<float>(convolution_.packed_floats());
}

RemainingWork TransposedChannelsLast::run(KernelCall& call, ScratchArena& arena, const pointwise::Epilogue*) const {
  const Reordered reordered(call);
  const KernelCall& last = reordered.call();
  ConvolutionOperands operands(last, DType::f32, weight_ == nullptr, arena);
  operands.convert();
  const auto* panels = reinterpret_cast<const float*>(weight_.get());
  if (panels == nullptr) {
    auto* packed = arena.allocate<float>(convolution_.packed_floats());
    convolution_.pack(reinterpret_cast<const float*>(operands.weight), packed);
    panels = packed;
  }
  const bool is_narrow = last.out[0].dtype != DType::f32;
  convolution_.run({.x = reinterpret_cast<const float*>(operands.x),
                    .weight = nullptr,
                    .bias = reinterpret_cast<const float*>(operands.bias),
                    .y = reinterpret_cast<float*>(operands.sums),
                    .panels = panels,
                    .upcoming = {}},
                   {is_narrow ? nullptr : epilogue_.get(), &last});
  operands.finish();
  if (is_narrow && epilogue_ != nullptr) epilogue_->apply(last);
  return RemainingWork::nothing;
}

}  // namespace tern::cpu
