// Products of matrices, and convolutions as products, on devices with groups.
#pragma once

#include <cstdint>

#include "kernels/portable/launches.h"
#include "kernels/portable/window.h"

namespace tern::portable {

/// Matrices [length, depth] of an operand: rows of the left one, columns of the right one.
struct ProductOperand {
  std::size_t index;  ///< of the node's inputs
  TensorView planes;  ///< the batch axes, with the sizes of the result's
  std::int64_t length, depth, step, depth_step;
};

/// The right operand is an image that windows lie over: its columns are their positions. The left one is the weight.
struct ProductWindow {
  Three x_sizes, x_strides, out_sizes, extent, strides, dilations, before;
  std::int64_t channels, x_channel;
  std::int64_t w_channel;
  Three w_strides;
};

/// Groups share tiles of both operands in local memory. Each sum is one chain of fused multiply-adds in float32 in the
/// order of the depth; where `faster`, in any order and by matrix units. `bias`: as broadcast to the result, of
/// input 2.
void add_product(const KernelCall& c, Launches& list, const ProductOperand& a, const ProductOperand& b,
                 const TensorView* bias, bool faster, const ProductWindow* window = nullptr);

}  // namespace tern::portable
