// Products, windows, sampling, recurrence, and the ops of object detection.
#pragma once

#include "schema/ops/attributes.h"
#include "schema/ops/costs.h"
#include "schema/ops/names.h"

namespace tern::ops {

inline constexpr Attribute kStrides =
    with(AttrKey::strides, AttrType::integers, 1, "from one window to the next").within(1, kMaxWindow);
inline constexpr Attribute kDilations =
    with(AttrKey::dilations, AttrType::integers, 1, "from one element of a window to the next").within(1, kMaxWindow);
inline constexpr Attribute kKernel =
    need(AttrKey::kernel, AttrType::integers, "sizes of a window").within(1, kMaxWindow);
inline constexpr Attribute kPadding =
    with(AttrKey::before, AttrType::integers, 0, "padding at both ends of each axis").within(0, kMaxWindow);
inline constexpr Attribute kSpatialSizes = need(AttrKey::sizes, AttrType::dims, "of the spatial axes of the result");
inline constexpr Attribute kAligned = flag(AttrKey::align_corners, "-1 and 1 are the centers of the corner elements");

inline constexpr AttrRecord kMatmul[] = {
    may(AttrKey::dtype, AttrType::dtype, "the dtype of a", "of the result"),
};
inline constexpr AttrRecord kGroupedMatmul[] = {
    may(AttrKey::dtype, AttrType::dtype, "the dtype of x", "of the result"),
};
inline constexpr AttrRecord kAttention[] = {
    flag(AttrKey::causal, "query i sees keys up to i"),
    may(AttrKey::scale, AttrType::number, "1 / sqrt(head size)", "of the scores"),
};
inline constexpr AttrRecord kRnn[] = {
    need(AttrKey::kind, kRnnNames, "the cell"),
    need(AttrKey::layers, AttrType::integer, "one above the other").within(1, 1 << 16),
    flag(AttrKey::bidirectional, "a second direction for each layer"),
};
inline constexpr AttrRecord kCdist[] = {
    with_number(AttrKey::p, 2, "the norm; infinity too").not_negative(),
};
inline constexpr AttrRecord kConvolution[] = {
    kStrides,
    kDilations,
    with(AttrKey::before, AttrType::integers, 0, "zeros in front of each spatial axis").within(0, kMaxWindow),
    with(AttrKey::after, AttrType::integers, 0, "zeros behind each spatial axis").within(0, kMaxWindow),
    with(AttrKey::groups, AttrType::integer, 1, "parts of the channels").within(1, kMaxWindow),
    flag(AttrKey::transposed, "the gradient of a convolution"),
    with(AttrKey::output_pads, AttrType::integers, 0, "transposed: extra size at the far end").within(0, kMaxWindow),
};
inline constexpr AttrRecord kPool[] = {
    need(AttrKey::kind, kPoolNames, "the largest element of a window, or the mean"),
    kKernel,
    may(AttrKey::strides, AttrType::integers, "the kernel", "from one window to the next").within(1, kMaxWindow),
    kDilations,
    kPadding,
    flag(AttrKey::ceil_mode, "sizes round up, but no window starts in the far padding"),
    flag(AttrKey::count_pads, "avg: padding counts as elements"),
    may(AttrKey::divisor, AttrType::integer, "the number of elements", "avg: what sums are divided by; not 0")
        .within(-kMaxWindow, kMaxWindow),
};
inline constexpr AttrRecord kAdaptivePool[] = {
    need(AttrKey::kind, kPoolNames, "the largest element of a window, or the mean"),
    need(AttrKey::sizes, AttrType::dims, "of the spatial axes of the result").at_least(0),
};
inline constexpr AttrRecord kFractionalPool[] = {
    kKernel,
    need(AttrKey::sizes, AttrType::dims, "of the spatial axes of the result").at_least(1),
};
inline constexpr AttrRecord kFold[] = {
    need(AttrKey::sizes, AttrType::dims, "of the spatial axes of the result").at_least(0),
    kKernel,
    kStrides,
    kDilations,
    kPadding,
};
inline constexpr AttrRecord kResize[] = {
    need(AttrKey::mode, kResizeNames, "how elements are interpolated"),
    need(AttrKey::sizes, AttrType::dims, "of the spatial axes of the result").at_least(1),
    flag(AttrKey::align_corners, "corner elements keep their places"),
    flag(AttrKey::antialias, "each result averages over the elements that it covers"),
    with_number(AttrKey::scales, 0, "result size / input size for each spatial axis; 0: by the sizes",
                AttrType::numbers),
};
inline constexpr AttrRecord kGridSample[] = {
    need(AttrKey::mode, kGridNames, "how elements are interpolated"),
    need(AttrKey::kind, kGridPaddingNames, "what lies outside of x"),
    kAligned,
};
inline constexpr AttrRecord kRoiAlign[] = {
    with(AttrKey::kind, kRoiNames, 0, "how a bin becomes a number"),
    need(AttrKey::sizes, AttrType::dims, "bins of a box, by axis").exactly(2).at_least(1),
    with_number(AttrKey::scale, 1, "from the coordinates of boxes to those of x").finite(),
    with(AttrKey::k, AttrType::integer, 0, "samples along each axis of a bin; 0: ceil(bin size)").within(0, 1 << 16),
    flag(AttrKey::align_corners, "align: boxes are shifted by half a pixel"),
};
inline constexpr AttrRecord kNms[] = {
    with_number(AttrKey::value, 0, "the largest overlap of kept boxes, intersection over union").any_number(),
    need(AttrKey::symbols, AttrType::symbols, "how many are kept").exactly(1),
};

inline constexpr OpRecord kContractions[] = {
    record(Op::matmul, "a, b, bias? -> y", "a [..., m, k] times b [..., k, n], plus bias; leading axes broadcast")
        .attrs(kMatmul)
        .costs(matmul_operations),
    record(Op::grouped_matmul, "x, weight, offsets -> y",
           "row r of x times weight[g] for the first g with r < offsets[g]")
        .attrs(kGroupedMatmul)
        .costs(matmul_operations),
    record(Op::attention, "q, k, v, mask? -> y", "softmax(q k^T * scale + mask) v; groups of heads may share keys")
        .attrs(kAttention)
        .costs(attention_operations),
    record(Op::rnn, "x, h0, c0?, weights+ -> y, h_n, c_n?", "layers of LSTM, GRU or plain cells along the first axis")
        .attrs(kRnn),
    record(Op::cdist, "x, y -> distances", "the p-norm of the difference of every two rows").attrs(kCdist),
    record(Op::convolution, "x, weight, bias? -> y", "cross-correlation over 1 to 3 spatial axes")
        .attrs(kConvolution)
        .costs(convolution_operations),
    record(Op::pool, "x -> y, indices?", "the mean or the largest element of each window; max has indices")
        .attrs(kPool),
    record(Op::adaptive_pool, "x -> y, indices?", "pool, with windows that divide x into given sizes")
        .attrs(kAdaptivePool),
    record(Op::fractional_pool, "x, samples -> y, indices", "the largest elements of pseudo-random windows")
        .attrs(kFractionalPool),
    record(Op::fold, "x -> y", "adds column j, a window of the result, to its place").attrs(kFold),
    record(Op::resize, "x -> y", "an image of another size").attrs(kResize),
    record(Op::grid_sample, "x, grid -> y", "elements at positions from -1 to 1, the innermost axis first")
        .attrs(kGridSample),
    record(Op::roi_align, "x, rois -> y", "each box cut into bins, one number for each channel").attrs(kRoiAlign),
    record(Op::nms, "boxes, scores -> kept", "boxes, by falling score, that overlap no kept box")
        .attrs(kNms)
        .traits_of(Trait::data_sized),
};

}  // namespace tern::ops
