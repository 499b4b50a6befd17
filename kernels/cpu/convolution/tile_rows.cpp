#include "kernels/cpu/convolution/tile_rows.h"

#include <fmt/format.h>

#include <vector>

#include "kernels/cpu/amx/packed.h"
#include "kernels/cpu/convolution/channels_last.h"
#include "kernels/cpu/convolution/reordered.h"

namespace tern::cpu {
namespace {

amx::ConvolutionShape shape_of(const channels_last::Convolution& c) {
  return {c.window, c.batch, c.groups, c.in, c.out, amx::kRounded};
}

}  // namespace

bool TileRowsConvolution::possible(const KernelCall& call) {
  return call.precision == Precision::bfloat16 && amx::available();
}

bool TileRowsConvolution::suits(const KernelCall& call, const channels_last::Convolution& c) {
  return possible(call) && amx::RowConvolution::suits(shape_of(c));
}

std::unique_ptr<TileRowsConvolution> TileRowsConvolution::make(const KernelCall& call,
                                                               const channels_last::Convolution& c) {
  const TensorView& w = call.in[1];
  const bool constant = call.constant != nullptr && call.constant[1] && w.data != nullptr && w.contiguous();
  if (!constant || !suits(call, c) || !wants_channels_last(call, c) || !has_channels_last(call.in[0]) ||
      !has_channels_last(call.out[0]))
    return nullptr;
  auto otherwise = ChannelsLastConvolution::make(call, c, false);
  if (otherwise == nullptr) return nullptr;
  std::unique_ptr<TileRowsConvolution> made(new TileRowsConvolution(shape_of(c)));
  made->otherwise_ = std::move(otherwise);
  made->choice = {Algorithm::tile_rows};
  made->unread = 1u << 1;
  made->own_epilogue = true;
  made->epilogue_ = pointwise::Epilogue::make(Reordered(call).call());
  const std::string key = fmt::format("bfloat16 rows: {} of {}, {} x {}, {}", c.groups * c.out, c.in, c.window[1].kernel,
                                      c.window[2].kernel, c.window[2].dilation == 1);
  made->weight_ = amx::packed_weight(call, 1, key, made->convolution_.packed_bytes(),
                                     [convolution = made->convolution_, weight = w.as<const float>()](std::byte* to) {
                                       convolution.pack(weight, to);
                                     });
  return made;
}

void TileRowsConvolution::reserve(const KernelCall& call, ScratchParts& parts) const {
  parts.take<std::byte>(static_cast<std::int64_t>(convolution_.scratch()));
  otherwise_->reserve(call, parts);
}

Left TileRowsConvolution::run(KernelCall& call, ScratchParts& parts, const pointwise::Epilogue*) const {
  auto* scratch = parts.take<std::byte>(static_cast<std::int64_t>(convolution_.scratch()));
  const Reordered reordered(call);
  const bool done = convolution_.run({call.in[0].as<const float>(),
                                      weight_.get(),
                                      call.has(2) ? call.in[2].as<const float>() : nullptr,
                                      call.out[0].as<float>(),
                                      {epilogue_.get(), &reordered.call()}},
                                     scratch);
  if (done) return Left::nothing;
  // The exported weight was not read: it is made again from the packed one.
  std::vector<float> weight(static_cast<std::size_t>(call.in[1].numel()));
  convolution_.unpack(weight_.get(), weight.data());
  std::vector<TensorView> in(call.in.begin(), call.in.end());
  in[1].data = reinterpret_cast<std::byte*>(weight.data());
  KernelCall again = call;
  again.in = in;
  return otherwise_->run(again, parts, nullptr);
}

}  // namespace tern::cpu
