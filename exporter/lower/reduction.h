// Helpers and tables of lowerings to reduce, scan, sort and count.
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

/// Axes of argument `name`; all axes (none listed) if the argument is absent or empty, or x has no dimensions.
std::vector<std::int64_t> axes_arg(Builder& b, const Call& c, ValueId x, ArgumentName name = "dim");
/// The product of the sizes of `axes` (none: of all).
Dim count_along(Builder& b, ValueId x, const std::vector<std::int64_t>& axes);
/// Size as an operand of Builder::expr: a number, or a tensor of no dimensions if symbolic.
ExprArg size_arg(Builder& b, std::string_view name, Dim d);
/// Returns x, or a list of one element if x has no dimensions.
ValueId at_least_1d(Builder& b, ValueId x);
/// Values and positions of select_reduce along one axis; x may have no dimensions.
std::vector<ValueId> select_along(Builder& b, ValueId x, SelectKind kind, std::int64_t axis, bool keepdims, Dim k = 1);
ValueId variance(Builder& b, ValueId x, const std::vector<std::int64_t>& axes, double correction, bool keepdims,
                 DType result);
/// p-norm of all elements along `axes` (empty: all), in the compute type of `result`, a real type.
ValueId vector_norm(Builder& b, ValueId x, double p, const std::vector<std::int64_t>& axes, bool keepdims,
                    DType result);
/// Values and positions in ascending or descending order, with x of no dimensions allowed.
std::vector<ValueId> sort_along(Builder& b, ValueId x, std::int64_t axis, bool descending, bool stable);
ValueId scan_along(Builder& b, ValueId x, ScanKind kind, std::int64_t axis, DType result);
/// Symbol of a data-dependent size: PyTorch's record for axis `axis` of result `i` unless another node defines the
/// symbol already, else a new symbol.
Dim data_size(Builder& b, const Call& c, std::size_t i, std::size_t axis);

}  // namespace tern
