#include "kernels/cpu/convolution/tile_convolution.h"

#include <fmt/format.h>

#include "kernels/cpu/products/packed_weight.h"

namespace tern::cpu {

namespace {

/// In whole lines of the cache.
std::size_t packed_bytes(const tiles::SplitConvolution& c) {
  return (static_cast<std::size_t>(c.packed_size()) * sizeof(float) + 63) / 64 * 64;
}

}  // namespace

std::size_t TileConvolution::scratch() const {
  return convolution_.scratch() + (packs_ ? packed_bytes(convolution_) : 0);
}

std::unique_ptr<TileConvolution> TileConvolution::create(const KernelCall& call,
                                                         const tiles::TileConvolutionShape& shape, bool packs) {
  const bool floats = call.in[0].dtype == DType::f32 && call.in[1].dtype == DType::f32 &&
                      call.out[0].dtype == DType::f32 && (!call.has_input(2) || call.in[2].dtype == DType::f32);
  if (!floats || !tiles::available() || call.out[0].numel() == 0 || !tiles::SplitConvolution::suits(shape))
    return nullptr;
  std::unique_ptr<TileConvolution> made(new TileConvolution(shape));
  const tiles::SplitConvolution& convolution = made->convolution_;
  const TensorView& w = call.in[1];
  const bool constant = call.constant != nullptr && call.constant[1] && w.data != nullptr && w.contiguous();
  const auto* weight = constant ? w.data_as<const float>() : nullptr;
  const std::string key = fmt::format("by 32 x 32: {} of {}, {} x {}", shape.groups * shape.out, shape.in,
                                      shape.window[1].kernel, shape.window[2].kernel);
  if (convolution.reads_in_place()) return made;
  if (!constant) {
    made->packs_ = packs;
    return packs ? std::move(made) : nullptr;
  }
  const auto packed =
      tiles::packed_weight(call, 1, key, convolution.packed_size() * static_cast<std::int64_t>(sizeof(float)),
                           [&](std::byte* to) { convolution.pack(weight, reinterpret_cast<float*>(to)); });
  made->packed_ = {packed, reinterpret_cast<const float*>(packed.get())};
  return made;
}

void TileConvolution::unpack(float* to) const {
  convolution_.unpack(packed_.get(), to);
}

bool TileConvolution::run(KernelCall& call, const pointwise::Epilogue* epilogue, std::byte* scratch) const {
  const float* weight = packed_ != nullptr ? packed_.get() : call.in[1].data_as<const float>();
  if (packs_) {
    auto* const packed = reinterpret_cast<float*>(scratch);
    convolution_.pack(weight, packed);
    weight = packed;
    scratch += packed_bytes(convolution_);
  }
  const float* bias = call.has_input(2) ? call.in[2].data_as<const float>() : nullptr;
  return convolution_.run(
      {call.in[0].data_as<const float>(), weight, bias, call.out[0].data_as<float>(), {epilogue, &call}}, scratch);
}

}  // namespace tern::cpu
