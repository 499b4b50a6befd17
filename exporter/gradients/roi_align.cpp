// Rule of roi_align. A bin of a box sums row weight times column weight over the image: each row and column of the
// image gets these weights times the bin's gradient.
#include "exporter/gradients/rules.h"
#include "exporter/gradients/shapes.h"
#include "exporter/lower/reduction.h"
#include "schema/window_kinds.h"

namespace tern {
namespace {

class Boxes {
 public:
  explicit Boxes(GradientCall& c)
      : c_(c),
        b_(c.b),
        compute_dtype_(compute_type(b_.dtype(c.operand(0)))),
        kind_(static_cast<RoiKind>(c.node.integer(AttrKey::kind))),
        boxes_(b_.size(c.operand(1), 0)) {}

  void run() {
    ExprPool& p = b_.pool();
    const Dims image = b_.shape(c_.operand(0));
    const Dim bins_y = c_.node.dims(AttrKey::sizes)[0], bins_x = c_.node.dims(AttrKey::sizes)[1];
    const Dim images = image[0], height = image[2], width = image[3], channels = b_.size(c_.grad(0), 1);
    const ValueId rows = weights(1, bins_y, height), columns = weights(0, bins_x, width);
    // Rows of weights with zeros for the boxes of other images: [bins_y, images * height, boxes].
    const ValueId number = b_.reshape(b_.iota(images, compute_dtype_), {images, 1, 1, 1});
    const ValueId box_of = b_.reshape(column(0), {boxes_, 1, 1});
    const ValueId box_rows = b_.expr("n == i ? w : 0", {{"n", number}, {"i", box_of}, {"w", rows}}, compute_dtype_);
    const ValueId by_bin = b_.reshape(b_.permute(box_rows, {2, 0, 3, 1}), {bins_y, 1, p.mul(images, height), boxes_});
    // [boxes, channels, bins_y, bins_x, width]: contribution of each bin to a column of the image.
    const ValueId g = b_.unsqueeze(b_.cast(c_.grad(0), compute_dtype_), -1);
    const bool by_position = kind_ == RoiKind::position_align || kind_ == RoiKind::position_pool;
    const ValueId across = b_.reshape(columns, {boxes_, 1, 1, bins_x, width});
    const ValueId spread = b_.expr("g * w", {{"g", g}, {"w", across}}, compute_dtype_);
    if (by_position) {
      const ValueId right =
          b_.reshape(b_.permute(spread, {2, 3, 0, 1, 4}), {bins_y, bins_x, boxes_, p.mul(channels, width)});
      const ValueId y = b_.reshape(b_.matmul(by_bin, right), {bins_y, bins_x, images, height, channels, width});
      return c_.add_gradient(0, b_.reshape(b_.permute(y, {2, 4, 0, 1, 3, 5}), image));
    }
    const ValueId summed = b_.reduce(spread, "sum", {3}, false, compute_dtype_);  // [boxes, channels, bins_y, width]
    const ValueId right = b_.reshape(b_.permute(summed, {2, 0, 1, 3}), {p.mul(bins_y, boxes_), p.mul(channels, width)});
    const ValueId left =
        b_.reshape(b_.permute(b_.squeeze(by_bin, 1), {1, 0, 2}), {p.mul(images, height), p.mul(bins_y, boxes_)});
    const ValueId y = b_.reshape(b_.matmul(left, right), {images, height, channels, width});
    c_.add_gradient(0, b_.permute(y, {0, 2, 1, 3}));
  }

 private:
  /// Number k of each box: [boxes].
  ValueId column(std::int64_t k) { return b_.cast(b_.select(c_.operand(1), 1, k), compute_dtype_); }

  /// Weight of each position of an image axis in each bin: [boxes, bins, size].
  ValueId weights(std::int64_t axis, Dim bins, Dim size) {
    const double scale = c_.node.number(AttrKey::scale);
    const auto spread = [&](ValueId v) { return b_.reshape(v, {boxes_, 1, 1}); };
    const ValueId low = spread(column(1 + axis)), high = spread(column(3 + axis));
    const ValueId bin = b_.reshape(b_.iota(bins, compute_dtype_), {bins, 1}), position = b_.iota(size, compute_dtype_);
    const ExprArg n = size_arg(b_, "n", size), m = size_arg(b_, "m", bins);
    if (kind_ == RoiKind::position_pool) {
      // Bins span floor to ceil, without the image's last element, omitted by torchvision.
      const ValueId inside = b_.expr(
          "f = sign(l) * floor(abs(l * z) + 0.5); w = max(sign(h) * floor(abs(h * z) + 0.5) - f, 1) / m;"
          "b = max(min(floor(k * w) + f, n - 1), 0); e = max(min(ceil((k + 1) * w) + f, n - 1), 0);"
          "p >= b && p < e ? 1 / (e - b) : 0",
          {{"l", low}, {"h", high}, {"z", scale}, {"k", bin}, {"p", position}, n, m}, compute_dtype_);
      return inside;
    }
    const double shift = kind_ == RoiKind::position_align || c_.flag(AttrKey::align_corners) ? 0.5 : 0;
    const char* width = shift == 0 ? "max((h - l) * z, 1) / m" : "(h - l) * z / m";
    const ValueId shifted_low = b_.expr("l * z - f", {{"l", low}, {"z", scale}, {"f", shift}}, compute_dtype_);
    const ValueId length = b_.expr(width, {{"l", low}, {"h", high}, {"z", scale}, m}, compute_dtype_);
    // Sample count of a bin: the given count, or the bin's length.
    const std::int64_t ratio = c_.node.integer(AttrKey::k);
    const Dim max_samples = ratio > 0 ? Dim(ratio) : b_.pool().add(b_.pool().mul(size, 2), 2);
    const ValueId count =
        ratio > 0 ? b_.full({}, static_cast<double>(ratio), compute_dtype_)
                  : b_.expr("max(min(ceil(w), s), 0)", {{"w", length}, size_arg(b_, "s", max_samples)}, compute_dtype_);
    const auto deep = [&](ValueId v) { return b_.unsqueeze(v, -1); };  // [boxes, bins, size, samples]
    const ValueId sample = b_.iota(max_samples, compute_dtype_);
    const ValueId sample_position = b_.expr("f + k * w + (i + 0.5) * w / c",
                                            {{"f", deep(shifted_low)},
                                             {"k", deep(bin)},
                                             {"w", deep(length)},
                                             {"i", sample},
                                             {"c", ratio > 0 ? count : deep(count)}},
                                            compute_dtype_);
    const ValueId sample_weights = b_.expr(
        "i >= c || v < -1 || v > n ? 0 : max(1 - abs(max(min(v, n - 1), 0) - p), 0)",
        {{"i", sample}, {"c", ratio > 0 ? count : deep(count)}, {"v", sample_position}, {"p", deep(position)}, n},
        compute_dtype_);
    const ValueId sum = b_.reduce(sample_weights, "sum", {-1}, false, compute_dtype_);
    // torchvision divides by the number of samples of both axes, at least 1: an axis without samples has none anyway.
    return b_.expr("s / max(c, 1)", {{"s", sum}, {"c", count}}, compute_dtype_);
  }

  GradientCall& c_;
  Builder& b_;
  DType compute_dtype_;
  RoiKind kind_;
  Dim boxes_;
};

}  // namespace

void differentiate_roi_align(GradientCall& c) {
  if (!c.needs_gradient(0)) return;  // the boxes get none, as in torchvision
  if (static_cast<RoiKind>(c.node.integer(AttrKey::kind)) == RoiKind::pool) return differentiate_roi_pool(c);
  Boxes(c).run();
}

}  // namespace tern
