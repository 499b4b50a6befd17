// Results in the caller's memory, on every device: the test plugins delay all work as long as allowed.
#include <gtest/gtest.h>

#include "tests/devices/test_devices.h"

namespace tern {
namespace {

using namespace testing;
using Floats = std::vector<float>;

class RunIntoTest : public ::testing::TestWithParam<std::string> {
 protected:
  PrepareOptions here() const { return on(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Devices, RunIntoTest, ::testing::ValuesIn(all_devices()), name_of_case);

/// (x, y): x - y, x * 2, and the number of runs.
TestProgram program() {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {2, 3}), y = p.input(DType::f32, {2, 3}), runs = p.state({1}, {0}, true);
  const ValueId next = p.b().expr("n + 1", {{"n", runs}}, DType::f32);
  p.write_back(0, next);
  p.output(p.b().expr("x - y", {{"x", x}, {"y", y}}, DType::f32));
  p.output(p.b().expr("x * 2", {{"x", x}}, DType::f32));
  p.output(next);
  return p;
}

const Tensor kX = floats({2, 3}, {5, 6, 7, 8, 9, 10}), kY = floats({2, 3}, {1, 2, 3, 4, 5, 7});

TEST_P(RunIntoTest, HasWrittenWhenItReturns) {
  Session s(program().model().prepare(here()));
  for (int run = 1; run <= 3; ++run) {
    const Tensor difference(DType::f32, {2, 3}), twice(DType::f32, {2, 3}), runs(DType::f32, {1});
    s.run_into({kX, kY}, {difference, twice, runs});
    EXPECT_EQ(values_of(difference), (Floats{4, 4, 4, 4, 4, 3}));
    EXPECT_EQ(values_of(twice), (Floats{10, 12, 14, 16, 18, 20}));
    EXPECT_EQ(values_of(runs), Floats{static_cast<float>(run)});
  }
}

TEST_P(RunIntoTest, LeavesOutWhatIsNotAskedFor) {
  Session s(program().model().prepare(here()));
  const Tensor twice(DType::f32, {2, 3});
  s.run_into({kX, kY}, {Tensor(), twice, Tensor()});
  EXPECT_EQ(values_of(twice), (Floats{10, 12, 14, 16, 18, 20}));
  EXPECT_EQ(values_of(s.run({kX, kY})[2]), Floats{2});
}

TEST_P(RunIntoTest, WritesStridedUnalignedAndInputMemory) {
  Session s(program().model().prepare(here()));
  Floats wide(14, -1);
  const Tensor strided = Tensor::borrow(wide.data() + 1, DType::f32, {2, 3}, {6, 2});
  const Tensor x = kX.clone();
  s.run_into({x, kY}, {strided, x, Tensor()});
  EXPECT_EQ(wide, (Floats{-1, 4, -1, 4, -1, 4, -1, 4, -1, 4, -1, 3, -1, -1}));
  EXPECT_EQ(values_of(x), (Floats{10, 12, 14, 16, 18, 20}));
}

TEST_P(RunIntoTest, OfAnotherRunKeepsWhatIsWritten) {
  Session s(program().model().prepare(here()));
  const Tensor first(DType::f32, {2, 3}), second(DType::f32, {2, 3});
  s.run_into({kX, kY}, {first, Tensor(), Tensor()});
  s.run_into({kY, kX}, {second, Tensor(), Tensor()});
  s.run({kX, kX});
  EXPECT_EQ(values_of(first), (Floats{4, 4, 4, 4, 4, 3}));
  EXPECT_EQ(values_of(second), (Floats{-4, -4, -4, -4, -4, -3}));
}

TEST_P(RunIntoTest, ChecksAllTensorsBeforeTheRun) {
  Session s(program().model().prepare(here()));
  const Tensor good = floats({2, 3}, Floats(6, -1)), turned(DType::f32, {3, 2});
  EXPECT_THROW(s.run_into({kX, kY}, {good, turned, Tensor()}), Error);
  EXPECT_THROW(s.run_into({kX, kY}, {good}), Error);
  EXPECT_EQ(values_of(good), Floats(6, -1));
  EXPECT_EQ(values_of(s.run({kX, kY})[2]), Floats{1}) << "a refused call counted";
}

}  // namespace
}  // namespace tern
