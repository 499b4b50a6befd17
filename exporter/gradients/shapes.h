// Helpers of gradient rules: axes and sizes, and sums of elements at indexed positions.
#pragma once

#include <initializer_list>
#include <vector>

#include "exporter/builder.h"

namespace tern {

/// Axes of `x` except the named ones, from 0.
std::vector<std::int64_t> axes_but(Builder& b, ValueId x, std::initializer_list<std::int64_t> axes);
/// [sizes[0], ..., sizes[first - 1], the product of the rest]
ValueId flatten_from(Builder& b, ValueId x, std::int64_t first);
/// Zeros of `sizes` and of g's type, plus the elements of `g` at positions `index` (of g's shape) along `axis`. Sums of
/// 16-bit elements are float32.
ValueId scatter_sum(Builder& b, Dims sizes, std::int64_t axis, ValueId index, ValueId g);
/// Repeats `index`, with an entry for each element of x's axes up to `axis`, for the elements of all further axes.
ValueId repeat_behind(Builder& b, ValueId index, const Dims& sizes);

/// Frequency in `index` of each element's own number, below `rows`; i64.
ValueId times_read(Builder& b, ValueId index, Dim rows);

}  // namespace tern
