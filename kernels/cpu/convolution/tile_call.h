// Steps shared by convolutions on rows of tiles, with a weight packed once or in each run.
#pragma once

#include <utility>
#include <vector>

#include "kernels/cpu/algorithms.h"
#include "kernels/cpu/channels_last/convolve.h"
#include "kernels/cpu/convolution/reordered.h"
#include "kernels/cpu/dense.h"
#include "kernels/cpu/products/float_call.h"
#include "kernels/cpu/products/tiles/row_convolution_driver.h"

namespace tern::cpu {

inline tiles::TileConvolutionShape tile_shape(const channels_last::ChannelsLastShape& c) {
  return {c.window, c.batch, c.groups, c.in, c.out, tiles::kRounded};
}

/// Multiplies by the packed weight. `bias` is room for the call's bias in float32; null without one. False where a
/// result is not finite.
inline bool convolve_on_tiles(const tiles::RowConvolution& convolution, KernelCall& call, const std::byte* weight,
                              float* bias, const pointwise::Epilogue* epilogue, std::byte* scratch) {
  if (bias != nullptr) to_dense(call.in[2], DType::f32, bias);
  const Reordered reordered(call);
  return convolution.run({tiles::Elements::from_tensor(call.in[0]),
                          weight,
                          bias,
                          call.out[0].data,
                          call.out[0].dtype == DType::bf16,
                          {epilogue, &reordered.call()}},
                         scratch);
}

/// Computes the call in float with this weight.
inline void convolve_by_floats(const KernelCall& call, std::vector<float> weight, const PreparedAlgorithm& algorithm,
                               ScratchArena& arena) {
  FloatCall floats(call);
  floats.widen(std::move(weight));
  algorithm.run(floats.call(), arena, nullptr);
  floats.store();
}

}  // namespace tern::cpu
