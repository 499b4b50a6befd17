// roi_align on planes whose means are known, and nms on boxes whose overlaps are easy to see.
#include <gtest/gtest.h>

#include "tests/kernels/node_run.h"

namespace tern::test {
namespace {

TEST(RoiAlign, TheMeanOfALinearPlaneIsItsValueAtTheCentreOfTheBin) {
  // x[0, 0, i, j] = 10 i + j; element (i, j) is centred at (j + 0.5, i + 0.5) when aligned.
  std::vector<double> x;
  for (int i = 0; i < 8; ++i) {
    for (int j = 0; j < 8; ++j) x.push_back(10.0 * i + j);
  }
  NodeRun run(Op::roi_align);
  run.input(DType::f64, {1, 1, 8, 8}, x);
  run.input<double>(DType::f64, {1, 5}, {0, 2, 4, 10, 12});
  run.set(AttrKey::sizes, {2, 2});
  run.set_number(AttrKey::scale, {0.5});
  run.set(AttrKey::k, 2);
  run.set(AttrKey::align_corners, 1);
  const auto got = run.run().output();
  // The box is 1..5 by 2..6; its bins are 2 by 2 with centres at x 2, 4 and y 3, 5.
  const double expected[] = {10 * 2.5 + 1.5, 10 * 2.5 + 3.5, 10 * 4.5 + 1.5, 10 * 4.5 + 3.5};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(got[i].real(), expected[i], 1e-12);
}

TEST(RoiAlign, RefusesAnImageOutsideTheBatch) {
  NodeRun run(Op::roi_align);
  run.input(DType::f32, {1, 1, 2, 2}, std::vector<double>{1, 2, 3, 4});
  run.input<double>(DType::f32, {1, 5}, {1, 0, 0, 1, 1});
  run.set(AttrKey::sizes, {1, 1});
  EXPECT_THROW(run.run(), Error);
}

TEST(Nms, KeepsTheBestOfOverlappingBoxes) {
  NodeRun run(Op::nms);
  // 1 overlaps 0 by 0.68, 3 equals 2, 4 only touches 0.
  run.input<double>(DType::f32, {5, 4}, {0, 0, 10, 10, 1, 1, 11, 11, 20, 20, 30, 30, 20, 20, 30, 30, 10, 0, 20, 10});
  run.input<double>(DType::f32, {5}, {0.5, 0.9, 0.7, 0.8, 0.1});
  run.set_number(AttrKey::value, {0.5});
  run.node().set(AttrKey::symbols, Dims{run.program().pool.symbol("u0", 0, 5)});
  EXPECT_EQ(run.run().output(), (std::vector<Number>{1, 3, 4}));
}

}  // namespace
}  // namespace tern::test
