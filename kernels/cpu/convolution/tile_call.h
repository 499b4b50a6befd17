// Steps shared by convolutions on rows of tiles, with a weight packed once or in each run.
#pragma once

#include <utility>
#include <vector>

#include "kernels/cpu/algorithms.h"
#include "kernels/cpu/amx/row_convolve.h"
#include "kernels/cpu/channels_last/convolve.h"
#include "kernels/cpu/convolution/reordered.h"
#include "kernels/cpu/dense.h"
#include "kernels/cpu/float_call.h"

namespace tern::cpu {

inline amx::ConvolutionShape tile_shape(const channels_last::Convolution& c) {
  return {c.window, c.batch, c.groups, c.in, c.out, amx::kRounded};
}

/// Multiplies by the packed weight. `bias` is a float32 buffer for the call's bias; null without a bias. Returns false
/// if a result is not finite.
inline bool convolve_on_tiles(const amx::RowConvolution& convolution, KernelCall& call, const std::byte* weight,
                              float* bias, const pointwise::Epilogue* epilogue, std::byte* scratch) {
  if (bias != nullptr) to_dense(call.in[2], DType::f32, bias);
  const Reordered reordered(call);
  return convolution.run({amx::Elements::of(call.in[0]),
                          weight,
                          bias,
                          call.out[0].data,
                          call.out[0].dtype == DType::bf16,
                          {epilogue, &reordered.call()}},
                         scratch);
}

/// Computes the call in float with this weight.
inline void convolve_by_floats(const KernelCall& call, std::vector<float> weight, const PreparedAlgorithm& algorithm,
                               ScratchParts& parts) {
  FloatCall floats(call);
  floats.widen(std::move(weight));
  algorithm.run(floats.call(), parts, nullptr);
  floats.store();
}

}  // namespace tern::cpu
