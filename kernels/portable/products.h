// Products of matrices, and convolutions as products, on devices with groups.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/portable/launches.h"
#include "kernels/portable/window.h"

namespace tern::portable {

/// Matrices [length, depth] of an operand: rows of the left operand, columns of the right operand.
struct ProductOperand {
  std::size_t index;  ///< number among the node's inputs
  TensorView planes;  ///< the batch axes, with the result's sizes
  std::int64_t length, depth, step, depth_step;
  /// Alternative location: the node's scratch, or a table of the plan.
  std::optional<std::uint64_t> scratch = std::nullopt;
  std::optional<std::size_t> table = std::nullopt;
};

/// The right operand is an image with sliding windows: its columns are the windows' positions. The left operand is the
/// weight.
struct ProductWindow {
  Three x_sizes, x_strides, out_sizes, extent, strides, dilations, padding_before;
  std::int64_t channels, x_channel;
  bool has_channels_inner;  ///< order of the weight's depth: channels within elements of the window; else elements
                            ///< within channels
};

/// Declares memory `name` and its view.
void declare_operand(Launch& k, const char* name, const ProductOperand& o);
/// A constant step in the text, or a parameter.
std::string step_of(std::int64_t step, const char* parameter);

/// Columns of the result covered by the right operand: the first, and the total number of the result's columns.
struct ResultColumns {
  std::int64_t first, total;
};

/// Declares the result and its bias: input 2 broadcast to the result, or null. Sums are of type `sum`.
void declare_result(Launch& k, const KernelCall& c, const TensorView* bias, DType sum);

/// Groups share tiles of both operands in local memory. Each sum is a single chain of fused multiply-adds in float32 in
/// the order of the depth; with `faster`, in any order and by matrix units. `bias`: see declare_result.
void add_product(const KernelCall& c, Launches& list, const ProductOperand& a, const ProductOperand& b,
                 const TensorView* bias, bool faster, const ProductWindow* window = nullptr,
                 const ResultColumns* part = nullptr);

}  // namespace tern::portable
