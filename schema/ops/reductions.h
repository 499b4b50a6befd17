// What works along axes: reductions, order, normalizations.
#pragma once

#include "schema/ops/attributes.h"
#include "schema/ops/names.h"

namespace tern::ops {

inline constexpr Attribute kAlong = need(AttrKey::axis, AttrType::axis, "along which");
inline constexpr Attribute kKeepdims = flag(AttrKey::keepdims, "reduced axes stay, of size 1");
inline constexpr Attribute kEpsilon = need(AttrKey::epsilon, AttrType::number, "added to the variance").finite();
inline constexpr Attribute kStatistics = may(AttrKey::dtype, AttrType::dtype, "the dtype of x", "of mean and rstd");
inline constexpr Attribute kLastAxes =
    need(AttrKey::k, AttrType::integer, "how many of the last axes are normalized").at_least(1);

inline constexpr AttrRecord kReduce[] = {
    need(AttrKey::kind, kReduceNames, "how elements are combined"),
    may(AttrKey::axes, AttrType::axes, "all axes", "that are reduced"),
    kKeepdims,
    need(AttrKey::dtype, AttrType::dtype, "of the result"),
    with_number(AttrKey::correction, 1, "var: what is subtracted from the number of elements"),
};
inline constexpr AttrRecord kSelectReduce[] = {
    need(AttrKey::kind, kSelectNames, "which element"),
    kAlong,
    with(AttrKey::k, AttrType::dim, 1, "kthvalue: from 1"),
    kKeepdims,
};
inline constexpr AttrRecord kScan[] = {
    need(AttrKey::kind, kScanNames, "how elements are combined"),
    kAlong,
    may(AttrKey::dtype, AttrType::dtype, "the dtype of x", "of the result"),
};
inline constexpr AttrRecord kSort[] = {
    kAlong,
    flag(AttrKey::descending, "the largest first"),
    flag(AttrKey::stable, "equal elements keep their order"),
};
inline constexpr AttrRecord kTopk[] = {
    kAlong,
    need(AttrKey::k, AttrType::dim, "how many").at_least(0),
    with(AttrKey::largest, AttrType::boolean, 1, "the largest elements, not the smallest"),
};
inline constexpr AttrRecord kSoftmax[] = {
    kAlong,
    flag(AttrKey::log, "its logarithm"),
    may(AttrKey::dtype, AttrType::dtype, "the dtype of x", "of the result"),
};
inline constexpr AttrRecord kLayerNorm[] = {kLastAxes, kEpsilon, kStatistics};
inline constexpr AttrRecord kRmsNorm[] = {kLastAxes, kEpsilon};
inline constexpr AttrRecord kGroupNorm[] = {
    need(AttrKey::groups, AttrType::integer, "parts of the channels").within(1, std::int64_t{1} << 40),
    kEpsilon,
    kStatistics,
};
inline constexpr AttrRecord kBatchNorm[] = {kEpsilon};
inline constexpr AttrRecord kHistogram[] = {
    may(AttrKey::bins, AttrType::integer, "between the edges", "how many").within(1, kHuge),
    with_number(AttrKey::range, 0, "the outer edges; two equal ones: the smallest and the largest element",
                AttrType::numbers)
        .exactly(2)
        .finite(),
    flag(AttrKey::density, "counts divided by their sum and the width of their bin"),
    flag(AttrKey::full, "an empty range is widened by 0.5 to each side, not by 1"),
};
inline constexpr AttrRecord kSearchsorted[] = {
    flag(AttrKey::right, "after equal elements, not before"),
    with(AttrKey::dtype, AttrType::dtype, static_cast<std::int64_t>(DType::i64), "of the positions: int32 or int64"),
};
inline constexpr AttrRecord kSegmentReduce[] = {
    need(AttrKey::kind, kScatterNames, "how elements are combined").within(1, kScatterKinds - 1),
    kAlong,
    may(AttrKey::value, AttrType::number, "the neutral element", "what each segment starts with"),
};

inline constexpr OpRecord kReductions[] = {
    record(Op::reduce, "x -> y", "all elements along axes combined into one").attrs(kReduce).traits_of(Trait::foldable),
    record(Op::select_reduce, "x -> values, indices", "one element of each line, and where it was")
        .attrs(kSelectReduce),
    record(Op::scan, "x -> y, indices?", "element i combines elements 0..i of its line; cummax and cummin have indices")
        .attrs(kScan)
        .traits_of(Trait::foldable),
    record(Op::sort, "x -> values, indices", "each line in order; NaN is larger than all").attrs(kSort),
    record(Op::topk, "x -> values, indices", "the k largest or smallest elements of each line, in order").attrs(kTopk),
    record(Op::softmax, "x -> y", "exp(x - max) / sum(exp(x - max)), or its logarithm").attrs(kSoftmax),
    record(Op::layer_norm, "x, weight?, bias? -> y, mean, rstd", "(x - mean) * rstd * weight + bias over the last axes")
        .attrs(kLayerNorm),
    record(Op::rms_norm, "x, weight? -> y", "x / sqrt(mean(x^2) + epsilon) * weight over the last axes")
        .attrs(kRmsNorm),
    record(Op::group_norm, "x, weight?, bias? -> y, mean, rstd", "layer_norm over groups of channels of each sample")
        .attrs(kGroupNorm),
    record(Op::batch_norm, "x, mean, var, weight?, bias? -> y", "(x - mean) / sqrt(var + epsilon) * weight + bias")
        .attrs(kBatchNorm),
    record(Op::histogram, "x, edges?, weight? -> counts, edges", "how many elements, or how much weight, each bin has")
        .attrs(kHistogram),
    record(Op::searchsorted, "sorted, values, sorter? -> positions", "where values go in a sorted sequence")
        .attrs(kSearchsorted),
    record(Op::segment_reduce, "x, offsets -> y", "elements offsets[i] up to offsets[i+1] of a line combined")
        .attrs(kSegmentReduce),
};

}  // namespace tern::ops
