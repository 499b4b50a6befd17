// What gradient rules share: axes and sizes, and sums of elements at the places that an index says.
#pragma once

#include <initializer_list>
#include <vector>

#include "exporter/builder.h"

namespace tern {

/// The axes of `x` but for those named, from 0.
std::vector<std::int64_t> axes_but(Builder& b, ValueId x, std::initializer_list<std::int64_t> axes);
/// [sizes[0], ..., sizes[first - 1], the product of the rest]
ValueId flatten_from(Builder& b, ValueId x, std::int64_t first);
/// Zeros of `sizes` and of g's type with the elements of `g` added along `axis` at the places that `index`, of g's
/// shape, says. Sums of 16-bit elements are float32.
ValueId scatter_sum(Builder& b, Dims sizes, std::int64_t axis, ValueId index, ValueId g);
/// `index`, one entry for each element of the axes of x up to `axis`, repeated for the elements of all further axes.
ValueId repeat_behind(Builder& b, ValueId index, const Dims& sizes);

/// For each element of `index` how often its number, below `rows`, occurs there; i64.
ValueId times_read(Builder& b, ValueId index, Dim rows);

}  // namespace tern
