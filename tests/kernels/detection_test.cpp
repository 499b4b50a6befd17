// roi_align on planes with known means, and nms on boxes with obvious overlaps, by the CPU's and the portable kernels.
#include <gtest/gtest.h>

#include "tests/kernels/host_launcher.h"
#include "tests/kernels/node_run.h"

namespace tern::test {
namespace {

class Detection : public testing::TestWithParam<bool> {
 protected:
  /// Fails if a portable kernel reported a failure.
  NodeRun& run(NodeRun& node) {
    if (!GetParam()) return node.run();
    node.select_device(&HostLauncher::instance());
    node.run();
    HostLauncher::instance().finish();
    return node;
  }
};
INSTANTIATE_TEST_SUITE_P(Kernels, Detection, testing::Bool(),
                         [](const auto& i) { return i.param ? "Portable" : "Cpu"; });

TEST_P(Detection, TheMeanOfALinearPlaneIsItsValueAtTheCentreOfTheBin) {
  // x[0, 0, i, j] = 10 i + j; element (i, j) is centred at (j + 0.5, i + 0.5) when aligned.
  std::vector<double> x;
  for (int i = 0; i < 8; ++i) {
    for (int j = 0; j < 8; ++j) x.push_back(10.0 * i + j);
  }
  NodeRun node(Op::roi_align);
  node.input(DType::f64, {1, 1, 8, 8}, x);
  node.input<double>(DType::f64, {1, 5}, {0, 2, 4, 10, 12});
  node.set(AttrKey::sizes, {2, 2});
  node.set_number(AttrKey::scale, {0.5});
  node.set(AttrKey::k, 2);
  node.set(AttrKey::align_corners, 1);
  const auto got = run(node).output();
  // The box is 1..5 by 2..6 with bins of 2 by 2, centred at x 2, 4 and y 3, 5.
  const double expected[] = {10 * 2.5 + 1.5, 10 * 2.5 + 3.5, 10 * 4.5 + 1.5, 10 * 4.5 + 3.5};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(got[i].real(), expected[i], 1e-12);
}

TEST_P(Detection, RefusesAnImageOutsideTheBatch) {
  NodeRun node(Op::roi_align);
  node.input(DType::f32, {1, 1, 2, 2}, std::vector<double>{1, 2, 3, 4});
  node.input<double>(DType::f32, {1, 5}, {1, 0, 0, 1, 1});
  node.set(AttrKey::sizes, {1, 1});
  EXPECT_THROW(run(node), Error);
}

TEST_P(Detection, KeepsTheBestOfOverlappingBoxes) {
  NodeRun node(Op::nms);
  // 1 overlaps 0 by 0.68, 3 equals 2, 4 only touches 0.
  node.input<double>(DType::f32, {5, 4}, {0, 0, 10, 10, 1, 1, 11, 11, 20, 20, 30, 30, 20, 20, 30, 30, 10, 0, 20, 10});
  node.input<double>(DType::f32, {5}, {0.5, 0.9, 0.7, 0.8, 0.1});
  node.set_number(AttrKey::value, {0.5});
  node.node().set(AttrKey::symbols, Dims{node.program().pool.symbol("u0", 0, 5)});
  EXPECT_EQ(run(node).output(), (std::vector<Number>{1, 3, 4}));
}

TEST_P(Detection, EachKindOfRoiReadsItsElements) {
  // Channel k of 4 has the value k + 1 everywhere, except 10 (k + 1) at (1, 1).
  std::vector<double> x;
  for (int k = 1; k <= 4; ++k) {
    for (int i = 0; i < 9; ++i) x.push_back(i == 4 ? 10.0 * k : k);
  }
  const auto bins = [&](std::int64_t kind) {
    NodeRun node(Op::roi_align);
    node.input(DType::f32, {1, 4, 3, 3}, x);
    node.input<double>(DType::f32, {1, 5}, {0, 0, 0, 2, 2});
    node.set(AttrKey::kind, kind);
    node.set(AttrKey::sizes, kind == 1 ? std::vector<std::int64_t>{1, 1} : std::vector<std::int64_t>{2, 2});
    node.set(AttrKey::k, 1);
    return run(node).output();
  };
  EXPECT_EQ(bins(1), (std::vector<Number>{10, 20, 30, 40}));
  // The box is 2 by 2: bin (i, j) is element (i, j) of channel 2 i + j.
  EXPECT_EQ(bins(3), (std::vector<Number>{1, 2, 3, 40}));
  // Half a pixel less, and half a bin more: the same samples.
  EXPECT_EQ(bins(2), (std::vector<Number>{1, 2, 3, 40}));
}

TEST_P(Detection, KeepsAllOfManyBoxesThatLieApart) {
  std::vector<double> boxes, scores;
  std::vector<Number> expected;
  for (int i = 0; i < 150; ++i) {
    for (const double v : {2.0 * i, 0.0, 2.0 * i + 1, 1.0}) boxes.push_back(v);
    scores.push_back(i);
    expected.push_back(149 - i);
  }
  NodeRun node(Op::nms);
  node.input(DType::f64, {150, 4}, boxes);
  node.input(DType::f64, {150}, scores);
  node.set_number(AttrKey::value, {0.1});
  node.node().set(AttrKey::symbols, Dims{node.program().pool.symbol("u0", 0, 150)});
  EXPECT_EQ(run(node).output(), expected);
}

}  // namespace
}  // namespace tern::test
