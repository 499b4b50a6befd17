// Lowerings of torchvision's operators.
#include "exporter/lower/lower.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

Values roi_align(Builder& b, const Call& c) {
  return {b.add(Op::roi_align, {c.tensor("input"), c.tensor("rois")},
                {attr(AttrKey::sizes, Dims{c.dim("pooled_height"), c.dim("pooled_width")}),
                 attr_number(AttrKey::scale, c.number("spatial_scale")),
                 attr(AttrKey::k, Dim(std::max<std::int64_t>(0, c.integer("sampling_ratio")))),
                 attr(AttrKey::align_corners, Dim(c.flag("aligned") ? 1 : 0))})};
}

Values nms(Builder& b, const Call& c) {
  if (c.declared.empty() || c.declared[0].rank() != 1) c.unsupported("a result whose size is not recorded");
  return {b.add(Op::nms, {c.tensor("dets"), c.tensor("scores")},
                {attr_number(AttrKey::value, c.number("iou_threshold")), attr(AttrKey::symbols, c.declared[0].shape)})};
}

constexpr Lowering kTable[] = {
    {"torchvision.nms.default", nms},
    {"torchvision.roi_align.default", roi_align},
};

}  // namespace

std::span<const Lowering> vision_lowerings() {
  return kTable;
}

}  // namespace tern
