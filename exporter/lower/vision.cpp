// Lowerings of torchvision's operators.
#include <string>

#include "exporter/lower/lower.h"
#include "schema/window_kinds.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

/// The second result of torchvision's other pooling ops only serves their backward passes.
template <RoiKind kind>
Values roi(Builder& b, const Call& c) {
  std::vector<Attr> attrs{attr(AttrKey::kind, Dim(static_cast<std::int64_t>(kind))),
                          attr(AttrKey::sizes, Dims{c.dim("pooled_height"), c.dim("pooled_width")}),
                          attr_number(AttrKey::scale, c.number("spatial_scale"))};
  if (kind == RoiKind::align || kind == RoiKind::position_align) {
    attrs.push_back(attr(AttrKey::k, Dim(std::max<std::int64_t>(0, c.integer("sampling_ratio")))));
  }
  if (kind == RoiKind::align) attrs.push_back(attr(AttrKey::align_corners, Dim(c.flag("aligned") ? 1 : 0)));
  const ValueId y = b.add(Op::roi_align, {c.tensor("input"), c.tensor("rois")}, std::move(attrs));
  return kind == RoiKind::align ? Values{y} : Values{y, kNoValue};
}

/// Each kernel element samples its own grid of positions, moved by the offsets; the samples times the weight form a
/// convolution.
Values deform_conv2d(Builder& b, const Call& c) {
  const ValueId x = c.tensor("input"), weight = c.tensor("weight");
  ExprPool& pool = b.pool();
  const DType dtype = b.dtype(x);
  const Dim n = b.size(x, 0), channels = b.size(x, 1), h = b.size(x, 2), w = b.size(x, 3),
            output_channels = b.size(weight, 0);
  const Dim kh = b.size(weight, 2), kw = b.size(weight, 3), elements = pool.mul(kh, kw);
  const std::int64_t groups = c.integer("groups"), offset_groups = c.integer("offset_groups");
  if (groups < 1 || offset_groups < 1 || !kw.is_const())
    c.unsupported("the groups must be positive and the kernel size constant");
  const ValueId offset = c.tensor("offset");
  const Dim oh = b.size(offset, 2), ow = b.size(offset, 3), planes = pool.mul(n, offset_groups);
  const ValueId offsets = b.reshape(offset, {planes, elements, 2, oh, ow});
  // Element k of the window at line i reads i * stride - padding + k * dilation; -1..1 spans the plane with pixels as
  // areas.
  const auto positions = [&](std::int64_t part, Dim size, const char* window, const char* element,
                             std::string_view suffix) {
    const auto integer_setting = [&](std::string_view name) {
      return c.number(ArgumentName::from_text(std::string(name) + std::string(suffix)));
    };
    const std::string text = std::string("(2 * (m + ") + window + " * s - p + " + element + " * d) + 1) / n - 1";
    return b.expr(text,
                  {{"m", b.select(offsets, 2, part)},
                   {"s", integer_setting("stride_")},
                   {"p", integer_setting("pad_")},
                   {"k", static_cast<double>(kw.value())},
                   {"d", integer_setting("dilation_")},
                   {"n", b.from_dim(size)}},
                  compute_type(dtype), dtype);
  };
  const ValueId y = positions(0, h, "index(2)", "floordiv(index(1), k)", "h");
  const ValueId xs = positions(1, w, "index(3)", "(index(1) % k)", "w");
  const Dim lines = pool.mul(elements, oh), points = pool.mul(oh, ow);
  const Dims grid_sizes{planes, lines, ow, 2};
  const ValueId grid = b.reshape(b.concat({b.unsqueeze(xs, -1), b.unsqueeze(y, -1)}, -1), grid_sizes);
  const Dim per_plane = pool.floordiv(channels, offset_groups);
  ValueId sampled = b.add(
      Op::grid_sample, {b.reshape(x, {planes, per_plane, h, w}), grid},
      {attr(AttrKey::mode, Dim(static_cast<std::int64_t>(GridMode::linear))),
       attr(AttrKey::kind, Dim(static_cast<std::int64_t>(GridPadding::zeros))), attr(AttrKey::align_corners, Dim(0))});
  if (c.flag("use_mask")) {
    const ValueId mask = b.reshape(c.tensor("mask"), {planes, 1, lines, ow});
    sampled = b.expr("v * m", {{"v", sampled}, {"m", mask}}, dtype);
  }
  const Dim inner = pool.mul(pool.floordiv(channels, groups), elements);
  const ValueId columns = b.reshape(sampled, {n, groups, inner, points});
  const ValueId rows = b.reshape(weight, {groups, pool.floordiv(output_channels, groups), inner});
  const ValueId r = b.reshape(b.matmul(rows, columns), {n, output_channels, oh, ow});
  return {b.expr("r + bias", {{"r", r}, {"bias", b.reshape(c.tensor("bias"), {output_channels, 1, 1})}}, dtype)};
}

Values nms(Builder& b, const Call& c) {
  if (c.declared.empty() || c.declared[0].rank() != 1) c.unsupported("the result's size is not recorded");
  return {b.add(Op::nms, {c.tensor("dets"), c.tensor("scores")},
                {attr_number(AttrKey::value, c.number("iou_threshold")), attr(AttrKey::symbols, c.declared[0].shape)})};
}

constexpr Lowering kVisionLowerings[] = {
    {"torchvision.nms.default", nms},
    {"torchvision.roi_align.default", roi<RoiKind::align>},
    {"torchvision.roi_pool.default", roi<RoiKind::pool>},
    {"torchvision.ps_roi_align.default", roi<RoiKind::position_align>},
    {"torchvision.ps_roi_pool.default", roi<RoiKind::position_pool>},
    {"torchvision.deform_conv2d.default", deform_conv2d},
};

}  // namespace

std::span<const Lowering> vision_lowerings() {
  return kVisionLowerings;
}

}  // namespace tern
