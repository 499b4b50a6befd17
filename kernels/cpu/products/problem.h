// A matmul node as products of planes: operands in the type that sums are made in, axes that the second operand does
// not have merged into rows.
#pragma once

#include <array>

#include "kernels/kernel.h"

namespace tern::cpu {

/// The axes before the last two that are left after merging, innermost first, with strides in elements.
struct Batch {
  int count = 0;
  std::array<std::int64_t, kMaxRank> size{}, a{}, b{};
  std::int64_t planes = 1;

  struct Offsets {
    std::int64_t a = 0, b = 0;
  };
  /// Elements from the first matrices of both operands to the matrices of a plane.
  Offsets offsets_of(std::int64_t plane) const {
    Offsets o;
    for (std::size_t d = 0; d < static_cast<std::size_t>(count); ++d) {
      o.a += plane % size[d] * a[d];
      o.b += plane % size[d] * b[d];
      plane /= size[d];
    }
    return o;
  }
};

struct Problem {
  DType type = DType::f32;  ///< the type of sums
  TensorView a, b;          ///< operands as the product reads them: converted, if need be (data not set)
  bool convert_a = false, convert_b = false, convert_c = false;
  std::int64_t m = 0, n = 0, k = 0;
  Batch batch;
};

/// The second operand as matrices [k, n]: quantized ones lie by columns, and so do their numbers.
TensorView right_operand(const KernelCall& c);
/// Writes these matrices, each repeated matrix once, as elements of `type`: dense, or in the order of right_operand for
/// the numbers of a quantized value.
void convert_right(const KernelCall& c, DType type, void* to);

/// True if few rows of each plane do not follow those of the plane before, and all are multiplied by the same matrix:
/// copied side by side they read that matrix once, and not for each plane.
bool copy_joins_rows(const KernelCall& c);

/// `converts`: operands of another type than the sums' are converted; otherwise the product reads both types.
Problem describe(const KernelCall& c, bool converts = true);

}  // namespace tern::cpu
