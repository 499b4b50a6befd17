#include "kernels/cpu/convolution/transposed.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/cpu/convolution/costs.h"
#include "kernels/cpu/convolution/reordered.h"
#include "kernels/cpu/dense.h"
#include "kernels/cpu/products/float32/strided_microkernel.h"
#include "kernels/cpu/products/packed_weight.h"

namespace tern::cpu {
namespace {

/// The view's floats: its own, or copies in `buffer`.
const float* floats_of(const TensorView& v, float* buffer) {
  if (v.dtype == DType::f32) return v.data_as<const float>();
  to_dense(v, DType::f32, buffer);
  return buffer;
}

}  // namespace

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
  made->weight_ = tiles::packed_weight(
      call, 1, key, made->convolution_.packed_floats() * static_cast<std::int64_t>(sizeof(float)),
      [convolution = made->convolution_, w](std::byte* to) {
        std::vector<float> widened(w.dtype == DType::f32 ? 0 : static_cast<std::size_t>(w.numel()));
        convolution.pack(floats_of(w, widened.data()), reinterpret_cast<float*>(to));
      });
  return made;
}

TransposedChannelsLast::Buffers TransposedChannelsLast::buffers(const KernelCall& call, ScratchArena& arena) const {
  Buffers b;
  if (call.in[0].dtype != DType::f32) {
    b.x = arena.allocate<float>(call.in[0].numel());
    if (weight_ == nullptr) b.weight = arena.allocate<float>(call.in[1].numel());
    if (call.has_input(2)) b.bias = arena.allocate<float>(call.in[2].numel());
    b.y = arena.allocate<float>(call.out[0].numel());
  }
  if (weight_ == nullptr) b.panels = arena.allocate<float>(convolution_.packed_floats());
  return b;
}

void TransposedChannelsLast::reserve(const KernelCall& call, ScratchArena& arena) const {
  buffers(call, arena);
}

RemainingWork TransposedChannelsLast::run(KernelCall& call, ScratchArena& arena, const pointwise::Epilogue*) const {
  const Buffers b = buffers(call, arena);
  if (weight_ == nullptr) convolution_.pack(floats_of(call.in[1], b.weight), b.panels);
  const Reordered reordered(call);
  const KernelCall& last = reordered.call();
  const TensorView& y = last.out[0];
  const bool is_narrow = b.y != nullptr;
  convolution_.run({.x = floats_of(to_channels_last_order(call.in[0], call.in[0].rank), b.x),
                    .weight = nullptr,
                    .bias = call.has_input(2) ? floats_of(call.in[2], b.bias) : nullptr,
                    .y = is_narrow ? b.y : y.data_as<float>(),
                    .panels = weight_ != nullptr ? reinterpret_cast<const float*>(weight_.get()) : b.panels,
                    .upcoming = {}},
                   {is_narrow ? nullptr : epilogue_.get(), &last});
  if (is_narrow) {
    from_dense(b.y, DType::f32, y);
    if (epilogue_ != nullptr) epilogue_->apply(last);
  }
  return RemainingWork::nothing;
}

}  // namespace tern::cpu
