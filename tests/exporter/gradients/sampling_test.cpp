// Gradients of resizing, of sampling at positions and of boxes.
#include <gtest/gtest.h>

#include "schema/window_kinds.h"
#include "tests/exporter/gradients/check.h"

namespace tern {
namespace {

using testing::doubles;
using testing::expect_gradients;
using testing::noise;
using Values = std::vector<ValueId>;

TEST(SamplingGradients, ResizeAndItsAdjoint) {
  for (const ResizeMode mode :
       {ResizeMode::nearest, ResizeMode::nearest_exact, ResizeMode::linear, ResizeMode::cubic}) {
    for (const Op op : {Op::resize, Op::resize_gradient}) {
      expect_gradients({noise({1, 2, 3, 4})}, [=](Builder& b, const Values& in) {
        return Values{
            b.add(op, in, {attr(AttrKey::mode, Dim(static_cast<int>(mode))), attr(AttrKey::sizes, Dims{5, 3})})};
      });
    }
  }
}

TEST(SamplingGradients, GridsOfEveryMode) {
  for (int mode = 0; mode < kGridModeCount; ++mode) {
    for (int padding = 0; padding < kGridPaddingCount; ++padding) {
      for (const bool corners : {false, true}) {
        SCOPED_TRACE(mode * 10 + padding);
        const auto build = [=](Builder& b, const Values& in) {
          return Values{b.add(Op::grid_sample, in,
                              {attr(AttrKey::mode, Dim(mode)), attr(AttrKey::kind, Dim(padding)),
                               attr(AttrKey::align_corners, Dim(corners))})};
        };
        expect_gradients({noise({2, 2, 4, 5}), noise({2, 3, 2, 2}, 2, -1.9, 1.9)}, build);
        if (static_cast<GridMode>(mode) == GridMode::cubic) continue;
        expect_gradients({noise({1, 2, 3, 4, 3}), noise({1, 2, 2, 2, 3}, 3, -1.9, 1.9)}, build);
      }
    }
  }
}

TEST(SamplingGradients, Boxes) {  // a box beyond the image, a box smaller than an element
  const Tensor boxes = doubles({4, 5}, {1, 0.3, 0.2, 3.4, 2.9, 0, -2, 1, 1.5, 7, 1, 2, 2, 2.1, 2.2, 0, 1, 0, 4, 3});
  for (const RoiKind kind : {RoiKind::align, RoiKind::pool, RoiKind::position_align, RoiKind::position_pool}) {
    for (const std::int64_t samples : {0, 2}) {
      for (const bool aligned : {false, true}) {
        expect_gradients({noise({2, 6, 4, 5})}, [&](Builder& b, const Values& in) {
          const ValueId rois = b.constant(DType::f64, {4, 5}, boxes.data());
          return Values{b.add(Op::roi_align, {in[0], rois},
                              {attr(AttrKey::kind, Dim(static_cast<int>(kind))), attr(AttrKey::sizes, Dims{2, 3}),
                               attr_number(AttrKey::scale, 0.9), attr(AttrKey::k, samples),
                               attr(AttrKey::align_corners, Dim(aligned))})};
        });
      }
    }
  }
}

}  // namespace
}  // namespace tern
