// Helpers and tables of lowerings for element movement.
#pragma once

#include <span>

#include "exporter/lower/lower.h"

namespace tern {

std::span<const Lowering> view_lowerings();       ///< reshape, permute, slice, select ...
std::span<const Lowering> splitting_lowerings();  ///< split, chunk, unbind ...
std::span<const Lowering> joining_lowerings();    ///< cat, stack, pad, roll, repeat ...
std::span<const Lowering> scatter_lowerings();    ///< slice_scatter, diagonal, diag_embed ...

/// Python's meaning of an index into an axis: counted from the end when negative, then held inside 0..size.
Dim clamp_index(Builder& b, Dim index, Dim size);
/// Strides of a contiguous tensor of these sizes.
Dims contiguous_strides(Builder& b, const Dims& sizes);
/// Replaces an entry -1 by the size needed for the product `numel`.
Dims infer_size(Builder& b, Dims sizes, Dim numel);
ValueId diagonal(Builder& b, ValueId x, std::int64_t offset, std::int64_t axis1, std::int64_t axis2);
/// x broadcast with leading axes of size 1 up to `rank`.
ValueId expand_rank(Builder& b, ValueId x, int rank);
/// start, length and step of slice.Tensor's arguments dim, start, end, step.
struct SliceRange {
  std::int64_t axis;
  Dim start, length;
  std::int64_t step;
};
SliceRange slice_range(Builder& b, const Call& c, ValueId x);

}  // namespace tern
