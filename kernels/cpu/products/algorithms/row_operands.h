// Operands of products of rows of bfloat16 beside the weight: x as dense rows, and the bias as floats.
#pragma once

#include "kernels/cpu/dense.h"
#include "kernels/cpu/products/choose.h"
#include "kernels/cpu/products/tiles/rows.h"
#include "kernels/cpu/products/tiles/split_driver.h"

namespace tern::cpu {

/// Scratch memory of a run, and operands that are put there.
struct RowOperands {
  RowOperands(const tiles::TileLinearShape& shape, std::size_t scratch, const KernelCall& c, ScratchArena& arena)
      : tiles(arena.allocate<std::byte>(static_cast<std::int64_t>(scratch))),
        x(c.in[0].dtype == DType::bf16 ? arena.allocate<std::byte>(shape.m * shape.k * 2) : nullptr),
        bias(c.has_input(2) ? arena.allocate<float>(shape.n) : nullptr) {}

  /// Makes the bias floats, and bfloat16 x that is not contiguous dense; the elements of x.
  tiles::Elements read(const KernelCall& c) const {
    if (bias != nullptr) to_dense(c.in[2], DType::f32, bias);
    tiles::Elements elements = tiles::Elements::from_tensor(c.in[0]);
    if (x != nullptr && !c.in[0].contiguous()) {
      to_dense(planes_without_repeats(c.in[0]), DType::bf16, x);
      elements.data = x;
    }
    return elements;
  }

  std::byte *tiles, *x;
  float* bias;
};

}  // namespace tern::cpu
