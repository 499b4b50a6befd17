// Helpers and tables of the lowerings that reduce, scan, sort and count.
#pragma once

#include <span>
#include <string_view>

#include "exporter/lower/lower.h"
#include "schema/kinds.h"

namespace tern {

std::span<const Lowering> plain_reduction_lowerings();  ///< sum, mean, max, any, argmax, var ...
std::span<const Lowering> norm_lowerings();             ///< norms, logsumexp, dist, renorm
std::span<const Lowering> order_lowerings();            ///< sort, topk, median, quantile, mode ...
std::span<const Lowering> scan_lowerings();             ///< cumsum, diff, trapezoid, gradient ...
std::span<const Lowering> counting_lowerings();         ///< unique, histogram, bincount, searchsorted ...

/// The axes named by `name`; none when it is absent, empty, or x has no dimensions: all of them.
std::vector<std::int64_t> axes_arg(Builder& b, const Call& c, ValueId x, ArgumentName name = "dim");
/// The product of the sizes of `axes` (none: of all).
Dim count_along(Builder& b, ValueId x, const std::vector<std::int64_t>& axes);
/// A size as an operand of Builder::expr: a number, or a tensor of no dimensions where it is symbolic.
ExprArg size_arg(Builder& b, std::string_view name, Dim d);
/// x, or x as a list of one element when it has no dimensions.
ValueId with_axis(Builder& b, ValueId x);
/// The values and positions that select_reduce gives along one axis, with x of no dimensions allowed.
std::vector<ValueId> select_along(Builder& b, ValueId x, SelectKind kind, std::int64_t axis, bool keepdims, Dim k = 1);
ValueId variance(Builder& b, ValueId x, const std::vector<std::int64_t>& axes, double correction, bool keepdims,
                 DType result);
/// The p-norm of all elements along `axes` (none: all), in the compute type of `result`, which is real.
ValueId vector_norm(Builder& b, ValueId x, double p, const std::vector<std::int64_t>& axes, bool keepdims,
                    DType result);
/// Values and positions in ascending or descending order, with x of no dimensions allowed.
std::vector<ValueId> sort_along(Builder& b, ValueId x, std::int64_t axis, bool descending, bool stable);
ValueId scan_along(Builder& b, ValueId x, ScanKind kind, std::int64_t axis, DType result);
/// The symbol for a size that only the data determine: the one PyTorch recorded at this place of result `i`, if no
/// other node gives it its value yet, else a new one.
Dim data_size(Builder& b, const Call& c, std::size_t i, std::size_t axis);

}  // namespace tern
