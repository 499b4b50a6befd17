// resize, grid_sample, and the ops of object detection: roi_align, nms.
#include <fmt/format.h>

#include "schema/infer/checks.h"
#include "schema/ops/attributes.h"
#include "schema/ops/families.h"
#include "schema/ops/names.h"
#include "schema/window_kinds.h"

namespace tern::ops {
namespace {

/// Checks the attributes of resize and sets the result type: x with other spatial sizes.
void resized(Inference& c) {
  const TensorType& x = c.in(0);
  c.require(x.rank() >= 3 && x.rank() <= 5, "the input must have 3 to 5 axes");
  const std::size_t n = x.shape.size() - 2;
  const auto mode = static_cast<ResizeMode>(c.integer(AttrKey::mode));
  const bool antialias = c.flag(AttrKey::antialias);
  if (mode == ResizeMode::cubic || antialias) c.require(n == 2, "cubic and antialiased resizing are two-dimensional");
  if (antialias)
    c.require(mode != ResizeMode::nearest && mode != ResizeMode::nearest_exact,
              "antialiasing is for linear, cubic and lanczos modes");
  c.require(antialias || mode != ResizeMode::lanczos, "the lanczos mode needs antialias");
  const std::vector<double>& scales = c.node.numbers(AttrKey::scales);
  c.require(scales.empty() || scales.size() == n, "attribute 'scales' needs one value for each spatial axis");
  for (const double s : scales) {
    c.require(s == 0 || (s >= 1e-9 && s <= 1e9), "attribute 'scales' must be zero or between 1e-9 and 1e9");
  }
  const Dims& sizes = c.list(AttrKey::sizes, n);
  Dims shape{x.shape[0], x.shape[1]};
  for (std::size_t i = 0; i < n; ++i) {
    require_at_least(c, x.shape[i + 2], 1, "a spatial size");
    shape.push_back(sizes[i]);
  }
  c.out(x.dtype, std::move(shape));
}

// x [n, c, spatial...] -> [n, c, sizes...] over 1 to 3 spatial axes (cubic, lanczos and antialias: 2). Attributes: mode
// (ResizeMode; lanczos, of three lobes, is always antialiased), sizes, align_corners, antialias, layout, scales: for
// each axis the caller's result size / input size, 0 to use the sizes; PyTorch computes positions from scales.
// u8 is rounded to nearest and clamped.
void resize(Inference& c) {
  require_plain(c, 0);
  const DType t = c.in(0).dtype;
  c.require(is_floating(t) || t == DType::u8, "the input must be floating or uint8");
  resized(c);
}

// g [n, c, spatial...] -> [n, c, sizes...]: gradient of an image of these sizes, resized with the same attributes to
// the spatial sizes of g. Element x[i] is the sum over j of g[j] times the weight of i in j. Like PyTorch's gradient,
// this op differs from the exact gradient of its resize: nearest positions are always computed as for layout
// channels_last, antialiasing filters equal sizes, too, and a bicubic gradient of equal sizes is a copy.
void resize_gradient(Inference& c) {
  require_floating(c, 0);
  resized(c);
}

// x [n, c, h, w] and grid [n, oh, ow, 2], or with depth [n, c, d, h, w] and [n, od, oh, ow, 3] -> [n, c, oh, ow]. grid
// holds positions from -1 to 1, the innermost axis first. Attributes: mode (GridMode; cubic is two-dimensional), kind
// (GridPadding), align_corners.
void grid_sample(Inference& c) {
  require_floating(c, 0);
  require_same_dtype(c, 0, 1);
  c.require(element_size(c.in(0).dtype) >= 2, "the small floating types cannot be sampled");
  const TensorType& x = c.in(0);
  const TensorType& grid = c.in(1);
  c.require((x.rank() == 4 || x.rank() == 5) && grid.rank() == x.rank(), "input and grid must both have 4 or 5 axes");
  const auto mode = static_cast<GridMode>(c.integer(AttrKey::mode));
  c.require(mode != GridMode::cubic || x.rank() == 4, "cubic sampling is two-dimensional");
  c.require_equal(x.shape[0], grid.shape[0], "the batch sizes");
  c.require_equal(grid.shape.back(), x.rank() - 2, "the coordinates of the grid");
  for (std::size_t i = 2; i < x.shape.size(); ++i) require_at_least(c, x.shape[i], 1, "a spatial size");
  Dims shape{x.shape[0], x.shape[1]};
  shape.insert(shape.end(), grid.shape.begin() + 1, grid.shape.end() - 1);
  c.out(x.dtype, std::move(shape));
}

// x [n, c, h, w], rois [k, 5] (batch number, x1, y1, x2, y2) -> [k, c, sizes[0], sizes[1]]: each box is cut into bins,
// and each bin gives one number per channel. Position-sensitive kinds have c / (sizes[0] * sizes[1]) channels in the
// result: channel i of bin (y, x) reads channel (i * sizes[0] + y) * sizes[1] + x. Attributes: kind (RoiKind; align),
// sizes, scale (from the boxes' coordinates to x's; 1), k (bilinear samples along each axis of a bin; 0: ceil(bin
// size)), align_corners (align: shift by half a pixel, torchvision's `aligned`; position_align always does). Empty bins
// give 0. A batch number outside 0..n-1 fails the run.
void roi_align(Inference& c) {
  require_floating(c, 0);
  require_same_dtype(c, 0, 1);
  const TensorType& x = c.in(0);
  const TensorType& rois = c.in(1);
  c.require(x.rank() == 4 && rois.rank() == 2, "the input must be [n, c, h, w] and the boxes [k, 5]");
  c.require_equal(rois.shape[1], 5, "the numbers of a box");
  const Dims& sizes = c.node.dims(AttrKey::sizes);
  const auto kind = static_cast<RoiKind>(c.integer(AttrKey::kind));
  Dim channels = x.shape[1];
  if (kind == RoiKind::position_align || kind == RoiKind::position_pool) {
    const Dim bins = c.pool.mul(sizes[0], sizes[1]);
    channels = c.pool.floordiv(channels, bins);
    c.require_equal(c.pool.mul(channels, bins), x.shape[1], "the channels and a multiple of the bins");
  }
  c.out(x.dtype, {rois.shape[0], channels, sizes[0], sizes[1]});
}

// boxes [n, 4] (x1, y1, x2, y2), scores [n] -> i64 numbers of the kept boxes, by falling score: boxes overlapping no
// kept box of a higher score by more than `value` (intersection over union). symbols: the symbol of their count.
void nms(Inference& c) {
  require_floating(c, 0);
  require_same_dtype(c, 0, 1);
  const TensorType& boxes = c.in(0);
  const TensorType& scores = c.in(1);
  c.require(boxes.rank() == 2 && scores.rank() == 1, "the boxes must be [n, 4] and the scores [n]");
  c.require_equal(boxes.shape[1], 4, "the numbers of a box");
  c.require_equal(boxes.shape[0], scores.shape[0], "the numbers of boxes and scores");
  c.out(DType::i64, {c.node.dims(AttrKey::symbols)[0]});
}

constexpr Attribute kAligned = flag(AttrKey::align_corners, "-1 and 1 are the centers of the corner elements");
constexpr AttrRecord kResize[] = {
    required(AttrKey::mode, kResizeNames, "how elements are interpolated"),
    required(AttrKey::sizes, AttrType::dims, "of the spatial axes of the result").minimum(1),
    flag(AttrKey::align_corners, "corner elements keep their places"),
    flag(AttrKey::antialias, "each result averages over the elements that it covers"),
    defaulted(AttrKey::layout, kImageLayoutNames, 0,
              "channels_last where PyTorch had more than three channels in this layout; its positions differ then"),
    defaulted_number(AttrKey::scales, 0, "result size / input size for each spatial axis; 0: by the sizes",
                     AttrType::numbers),
};
constexpr AttrRecord kGridSample[] = {
    required(AttrKey::mode, kGridNames, "how elements are interpolated"),
    required(AttrKey::kind, kGridPaddingNames, "the values outside of x"),
    kAligned,
};
constexpr AttrRecord kRoiAlign[] = {
    defaulted(AttrKey::kind, kRoiNames, 0, "how a bin becomes a number"),
    required(AttrKey::sizes, AttrType::dims, "bins of a box, by axis").exactly(2).minimum(1),
    defaulted_number(AttrKey::scale, 1, "from the coordinates of boxes to those of x").finite(),
    defaulted(AttrKey::k, AttrType::integer, 0, "samples along each axis of a bin; 0: ceil(bin size)")
        .bounds(0, 1 << 16),
    flag(AttrKey::align_corners, "align: boxes are shifted by half a pixel"),
};
constexpr AttrRecord kNms[] = {
    defaulted_number(AttrKey::value, 0, "the largest overlap of kept boxes, intersection over union").any_number(),
    required(AttrKey::symbols, AttrType::symbols, "the number of kept boxes").exactly(1),
};

constexpr OpRecord kSamplingOps[] = {
    TERN_OP(64, resize, "x -> y", "an image of another size").attrs(kResize).rule(resize),
    TERN_OP(130, resize_gradient, "g -> x",
            "what resize, with these attributes, passes on to each element of its operand")
        .attrs(kResize)
        .rule(resize_gradient),
    TERN_OP(65, grid_sample, "x, grid -> y", "elements at positions from -1 to 1, the innermost axis first")
        .attrs(kGridSample)
        .rule(grid_sample),
    TERN_OP(71, roi_align, "x, rois -> y", "each box cut into bins, one number for each channel")
        .attrs(kRoiAlign)
        .rule(roi_align),
    TERN_OP(72, nms, "boxes, scores -> kept", "boxes, by falling score, that overlap no kept box")
        .attrs(kNms)
        .traits_of(Trait::data_sized)
        .rule(nms),
};

}  // namespace

std::span<const OpRecord> sampling_ops() {
  return kSamplingOps;
}

}  // namespace tern::ops
