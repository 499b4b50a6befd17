#include "kernels/cpu/convolution/quantized_tile_rows.h"

#include <vector>

#include "kernels/convolution_weight.h"
#include "kernels/cpu/convolution/channels_last.h"
#include "kernels/cpu/convolution/tile_call.h"
#include "kernels/cpu/products/block_quantized/driver.h"
#include "kernels/quantized_view.h"

namespace tern::cpu {
namespace {

/// Limit of the weight in bfloat16: its values stay in the last cache between conversion and product.
constexpr std::int64_t kMostBytes = 8 << 20;

/// Returns the call with the weight's numbers as operand 1.
KernelCall replace_weight(const KernelCall& call, std::vector<TensorView>& in) {
  in.assign(call.in.begin(), call.in.end());
  in[1] = convolution_weight(call);
  in[1].dtype = DType::f32;
  in[1].blocks = {};
  in[1].data = nullptr;
  KernelCall floats = call;
  floats.in = in;
  return floats;
}

}  // namespace

bool QuantizedTileRows::serves(const KernelCall& call, const channels_last::ChannelsLastShape& c) {
  const TensorView &x = call.in[0], &y = call.out[0];
  const auto fits = [](DType t) { return t == DType::f32 || t == DType::bf16; };
  const bool rounds = x.dtype == DType::bf16 || call.precision == Precision::bfloat16;
  if (!rounds || !rows_pay() || !fits(x.dtype) || !fits(y.dtype)) return false;
  if ((x.rank != 3 && x.rank != 4) || x.numel() == 0 || call.in[1].numel() == 0 || y.numel() == 0) return false;
  const tiles::TileConvolutionShape shape = tile_shape(c);
  return call.algorithm == Algorithm::none && tiles::RowConvolution::suits(shape) &&
         tiles::RowConvolution(shape).packed_bytes() <= kMostBytes;
}

std::unique_ptr<QuantizedTileRows> QuantizedTileRows::create(const KernelCall& call,
                                                             const channels_last::ChannelsLastShape& c) {
  if (!serves(call, c) || !has_channels_last(call.in[0]) || !has_channels_last(call.out[0])) return nullptr;
  std::vector<TensorView> in;
  const KernelCall numbers = replace_weight(call, in);
  FloatCall floats(numbers);
  auto otherwise = ChannelsLastConvolution::otherwise(floats.call(), c);
  if (otherwise == nullptr) return nullptr;
  std::unique_ptr<QuantizedTileRows> made(new QuantizedTileRows(tile_shape(c)));
  made->otherwise_ = std::move(otherwise);
  made->choice = {Algorithm::quantized};
  made->own_epilogue = true;
  made->epilogue_ = pointwise::Epilogue::create(Reordered(call).call());
  return made;
}

struct QuantizedTileRows::Room {
  Room(const QuantizedTileRows& of, const KernelCall& call, ScratchArena& arena)
      : weight(arena.allocate<std::byte>(of.convolution_.packed_bytes())),
        scratch(arena.allocate<std::byte>(static_cast<std::int64_t>(of.convolution_.scratch()))),
        bias(call.has_input(2) ? arena.allocate<float>(call.in[2].numel()) : nullptr) {}
  std::byte *weight, *scratch;
  float* bias;
};

void QuantizedTileRows::reserve(const KernelCall& call, ScratchArena& arena) const {
  const Room room(*this, call, arena);
  otherwise_->reserve(call, arena);
}

RemainingWork QuantizedTileRows::run(KernelCall& call, ScratchArena& arena, const pointwise::Epilogue*) const {
  const Room room(*this, call, arena);
  const QuantizedMatrix matrix = quantized_matrix(call.in[1]);
  convolution_.pack(
      [&](std::int64_t row, float* to) {
        block_quantized::numbers_of_row(matrix, call.in[1].data, row, 0, matrix.columns, to);
      },
      room.weight);
  if (convolve_on_tiles(convolution_, call, room.weight, room.bias, epilogue_.get(), room.scratch))
    return RemainingWork::nothing;
  std::vector<float> weight(static_cast<std::size_t>(call.in[1].numel()));
  for (std::int64_t r = 0; r < matrix.rows; ++r)
    block_quantized::numbers_of_row(matrix, call.in[1].data, r, 0, matrix.columns, weight.data() + r * matrix.columns);
  std::vector<TensorView> in;
  convolve_by_floats(replace_weight(call, in), std::move(weight), *otherwise_, arena);
  return RemainingWork::nothing;
}

}  // namespace tern::cpu
