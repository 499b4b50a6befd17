// Rotary embeddings before and after: halves are read in place, and results keep their bits.
#include <gtest/gtest.h>

#include <algorithm>

#include "exporter/importer.h"
#include "exporter/passes/passes.h"
#include "exporter/passes/pipeline.h"
#include "tests/exporter/node_count.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using testing::count;
using testing::floats;
using testing::TestProgram;
using testing::values_of;

/// x [2, rows, 4], cosines and sines [1, rows, 4], a node for each of PyTorch's operators.
class Rotation : public ::testing::Test {
 protected:
  TestProgram p;
  Dim rows = p.b().pool().symbol("rows", 0, 8);
  ValueId x = p.input(DType::f32, {2, rows, 4}), cosines = p.input(DType::f32, {1, rows, 4}),
          sines = p.input(DType::f32, {1, rows, 4});

  ValueId times(ValueId a, ValueId b) { return p.b().expr("a * b", {{"a", a}, {"b", b}}, DType::f32); }
  ValueId sum(ValueId a, ValueId b) { return p.b().expr("a + b", {{"a", a}, {"b", b}}, DType::f32); }
  ValueId minus(ValueId a) { return p.b().expr("-a", {{"a", a}}, DType::f32); }
  ValueId half(std::int64_t start, std::int64_t step = 1) { return p.b().slice(x, -1, start, 2, step); }
  ValueId turned() { return p.b().concat({minus(half(2)), half(0)}, -1); }

  Program& rotated(ValueId result) {
    p.output(result);
    turn_halves_in_place(p.program());
    return p.program();
  }
  void expect_as_it_was(ValueId result) {
    const std::size_t before = count(p.program(), Op::concat);
    EXPECT_EQ(count(rotated(result), Op::concat), before);
  }
};

TEST_F(Rotation, ReadsHalvesWhereTheyLie) {
  EXPECT_EQ(count(rotated(sum(times(x, cosines), times(turned(), sines))), Op::concat), 0U);
  Session session(p.model().prepare());
  const std::vector<float> at = {1, 2, 3, 4, -5, 6, 0.5F, -8}, c = {0.1F, 0.2F, 0.3F, 0.4F},
                           s = {0.7F, 0.6F, 0.5F, 0.9F};
  std::vector<float> expected;
  for (std::size_t row = 0; row < 8; row += 4) {
    for (std::size_t i = 0; i < 4; ++i) {
      const float other = i < 2 ? -at[row + i + 2] : at[row + i - 2];
      const float plain = at[row + i] * c[i], with_sine = other * s[i];
      expected.push_back(plain + with_sine);
    }
  }
  EXPECT_EQ(values_of(session.run({floats({2, 1, 4}, at), floats({1, 1, 4}, c), floats({1, 1, 4}, s)})[0]), expected);
  EXPECT_TRUE(values_of(session.run({floats({2, 0, 4}, {}), floats({1, 0, 4}, {}), floats({1, 0, 4}, {})})[0]).empty());
}

TEST_F(Rotation, InAnyOrderOfOperands) {
  EXPECT_EQ(count(rotated(sum(times(sines, turned()), times(cosines, x))), Op::concat), 0U);
  Session session(p.model().prepare());
  EXPECT_EQ(values_of(session.run({floats({2, 1, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), floats({1, 1, 4}, {1, 1, 1, 1}),
                                   floats({1, 1, 4}, {2, 2, 2, 2})})[0]),
            (std::vector<float>{-5, -6, 5, 8, -9, -10, 17, 20}));
}

TEST_F(Rotation, LayersShareTheSignsOfSines) {
  for (int layer = 0; layer < 2; ++layer) p.output(sum(times(x, cosines), times(turned(), sines)));
  Program& program = rotated(times(x, x));
  const auto signed_sines = [&] {
    return std::ranges::count_if(program.functions[0].nodes, [](const Node& n) {
      return n.op == Op::pointwise &&
             std::ranges::any_of(n.expr.code, [](const Instruction& i) { return i.op == Scalar::index; });
    });
  };
  EXPECT_EQ(signed_sines(), 2);
  run_passes(program, Stage::simplify, Stage::simplify, {});
  EXPECT_EQ(signed_sines(), 1);
}

TEST_F(Rotation, HalvesThatAnythingElseReadsStay) {
  const ValueId t = turned();
  p.output(t);
  expect_as_it_was(sum(times(x, cosines), times(t, sines)));
}
TEST_F(Rotation, TheOtherSignStays) {
  const ValueId t = p.b().concat({half(2), minus(half(0))}, -1);
  expect_as_it_was(sum(times(x, cosines), times(t, sines)));
}
TEST_F(Rotation, HalvesInTheirOwnOrderStay) {
  const ValueId t = p.b().concat({minus(half(0)), half(2)}, -1);
  expect_as_it_was(sum(times(x, cosines), times(t, sines)));
}
TEST_F(Rotation, OtherElementsThanHalvesStay) {
  const ValueId t = p.b().concat({minus(half(1)), half(0)}, -1);
  expect_as_it_was(sum(times(x, cosines), times(t, sines)));
}
TEST_F(Rotation, OddAndEvenElementsStay) {
  const ValueId t = p.b().concat({minus(half(1, 2)), half(0, 2)}, -1);
  expect_as_it_was(sum(times(x, cosines), times(t, sines)));
}
TEST_F(Rotation, OneSineForAllElementsStays) {
  const ValueId one = p.input(DType::f32, {1, rows, 1});
  expect_as_it_was(sum(times(x, cosines), times(turned(), one)));
}
TEST_F(Rotation, DifferencesStay) {
  const ValueId a = times(x, cosines), b = times(turned(), sines);
  expect_as_it_was(p.b().expr("a - b", {{"a", a}, {"b", b}}, DType::f32));
}

}  // namespace
}  // namespace tern
