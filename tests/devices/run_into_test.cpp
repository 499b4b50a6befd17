// Results in the caller's memory, on every device: the test plugins delay all work as long as allowed.
#include <gtest/gtest.h>

#include "tests/devices/test_devices.h"

namespace tern {
namespace {

using namespace testing;
using Floats = std::vector<float>;

class RunIntoTest : public ::testing::TestWithParam<std::string> {
 protected:
  PrepareOptions here() const { return options_on(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Devices, RunIntoTest, ::testing::ValuesIn(all_devices()), name_of_case);

/// (x, y): x - y, x * 2, and the number of runs.
TestProgram program_run_into() {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {2, 3}), y = p.input(DType::f32, {2, 3}), runs = p.state({1}, {0}, true);
  const ValueId next = p.b().expr("n + 1", {{"n", runs}}, DType::f32);
  p.write_back(0, next);
  p.output(p.b().expr("x - y", {{"x", x}, {"y", y}}, DType::f32));
  p.output(p.b().expr("x * 2", {{"x", x}}, DType::f32));
  p.output(next);
  return p;
}

const Tensor kRunIntoX = floats({2, 3}, {5, 6, 7, 8, 9, 10}), kRunIntoY = floats({2, 3}, {1, 2, 3, 4, 5, 7});

TEST_P(RunIntoTest, HasWrittenWhenItReturns) {
  Session s(program_run_into().model().prepare(here()));
  for (int run = 1; run <= 3; ++run) {
    const Tensor difference(DType::f32, {2, 3}), twice(DType::f32, {2, 3}), runs(DType::f32, {1});
    s.run_into({kRunIntoX, kRunIntoY}, {difference, twice, runs});
    EXPECT_EQ(values_of(difference), (Floats{4, 4, 4, 4, 4, 3}));
    EXPECT_EQ(values_of(twice), (Floats{10, 12, 14, 16, 18, 20}));
    EXPECT_EQ(values_of(runs), Floats{static_cast<float>(run)});
  }
}

TEST_P(RunIntoTest, LeavesOutWhatIsNotAskedFor) {
  Session s(program_run_into().model().prepare(here()));
  const Tensor twice(DType::f32, {2, 3});
  s.run_into({kRunIntoX, kRunIntoY}, {Tensor(), twice, Tensor()});
  EXPECT_EQ(values_of(twice), (Floats{10, 12, 14, 16, 18, 20}));
  EXPECT_EQ(values_of(s.run({kRunIntoX, kRunIntoY})[2]), Floats{2});
}

TEST_P(RunIntoTest, WritesStridedUnalignedAndInputMemory) {
  Session s(program_run_into().model().prepare(here()));
  Floats wide(14, -1);
  const Tensor strided = Tensor::borrow(wide.data() + 1, DType::f32, {2, 3}, {6, 2});
  const Tensor x = kRunIntoX.clone();
  s.run_into({x, kRunIntoY}, {strided, x, Tensor()});
  EXPECT_EQ(wide, (Floats{-1, 4, -1, 4, -1, 4, -1, 4, -1, 4, -1, 3, -1, -1}));
  EXPECT_EQ(values_of(x), (Floats{10, 12, 14, 16, 18, 20}));
}

TEST_P(RunIntoTest, OfAnotherRunKeepsWhatIsWritten) {
  Session s(program_run_into().model().prepare(here()));
  const Tensor first(DType::f32, {2, 3}), second(DType::f32, {2, 3});
  s.run_into({kRunIntoX, kRunIntoY}, {first, Tensor(), Tensor()});
  s.run_into({kRunIntoY, kRunIntoX}, {second, Tensor(), Tensor()});
  s.run({kRunIntoX, kRunIntoX});
  EXPECT_EQ(values_of(first), (Floats{4, 4, 4, 4, 4, 3}));
  EXPECT_EQ(values_of(second), (Floats{-4, -4, -4, -4, -4, -3}));
}

TEST_P(RunIntoTest, ChecksAllTensorsBeforeTheRun) {
  Session s(program_run_into().model().prepare(here()));
  const Tensor good = floats({2, 3}, Floats(6, -1)), turned(DType::f32, {3, 2});
  EXPECT_THROW(s.run_into({kRunIntoX, kRunIntoY}, {good, turned, Tensor()}), Error);
  EXPECT_THROW(s.run_into({kRunIntoX, kRunIntoY}, {good}), Error);
  EXPECT_EQ(values_of(good), Floats(6, -1));
  EXPECT_EQ(values_of(s.run({kRunIntoX, kRunIntoY})[2]), Floats{1}) << "a refused call counted";
}

}  // namespace
}  // namespace tern
