#include <limits>

#include "kernels/portable/axes.h"
#include "kernels/portable/definitions.h"
#include "kernels/portable/launches.h"
#include "schema/window_kinds.h"

namespace tern::portable {
namespace {

void roi_align(const KernelCall& c, Launches& list) {
  const TensorView &x = c.in[0], &rois = c.in[1], &out = c.out[0];
  const Node& node = *c.node;
  const auto kind = static_cast<RoiKind>(node.integer(AttrKey::kind));
  const bool samples = kind == RoiKind::align || kind == RoiKind::position_align;
  const bool by_position = kind == RoiKind::position_align || kind == RoiKind::position_pool;
  const bool shifts = by_position || node.integer(AttrKey::align_corners) != 0;
  const DType t = x.dtype == DType::f64 ? DType::f64 : DType::f32;
  Launch k("roi_align");
  k.type("T", t);
  k.source.choice("SAMPLES", samples ? 1 : 0);
  k.source.choice("BY_POSITION", by_position ? 1 : 0);
  k.source.define("LOWEST", literal(t, t == DType::f64 ? std::numeric_limits<double>::lowest()
                                                       : std::numeric_limits<float>::lowest()));
  k.input("image_data", 0, x.dtype);
  k.load("LOAD_X", x.dtype, t);
  k.input("rois", 1, rois.dtype);
  k.load("LOAD_ROI", rois.dtype, t);
  k.output("out", 0, out.dtype);
  k.store("STORE", t, out.dtype);
  k.may_fail();
  k.parameter("count", out.numel());
  k.parameter("images", x.size(0));
  k.parameter("channels", out.size(1));
  k.parameter("height", x.size(2));
  k.parameter("width", x.size(3));
  k.parameter("bins_y", out.size(2));
  k.parameter("bins_x", out.size(3));
  k.parameter("ratio", node.integer(AttrKey::k));
  k.parameter("x_image", x.stride(0));
  k.parameter("x_channel", x.stride(1));
  k.parameter("x_row", x.stride(2));
  k.parameter("x_column", x.stride(3));
  k.parameter("roi_row", rois.stride(0));
  k.parameter("roi_column", rois.stride(1));
  k.source.parameter("scale", t, node.number(AttrKey::scale));
  k.source.parameter("shift", t, shifts ? 0.5 : 0.0);
  list.add(std::move(k), out.numel());
}

/// Boxes have the type of the image.
DType as_first(const KernelCall& c, std::size_t) {
  return text_type(c.in[0].dtype, Sight::computed);
}

constexpr std::string_view kRoiAlignSamples[] = {
    "T=f32|f64: T[1,4,3,3], T[2,5]; sizes=[2,2], kind=align",
};

}  // namespace

void define_roi_align(Definitions& d) {
  d.set(Op::roi_align, kernel<roi_align>(), {.samples = kRoiAlignSamples, .input = as_first});
}

}  // namespace tern::portable
