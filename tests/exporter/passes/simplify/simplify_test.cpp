// Programs with repeated nodes and filled operands, before and after: fewer nodes, the same numbers.
#include <gtest/gtest.h>

#include "exporter/importer.h"
#include "exporter/microscaling/round.h"
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

ValueId fill(TestProgram& p, std::vector<std::int64_t> sizes, double value, DType dtype) {
  return p.b().add(Op::full, {},
                   {attr(AttrKey::sizes, Dims(sizes.begin(), sizes.end())),
                    {AttrKey::value, std::vector<double>{value, 0}},
                    attr(AttrKey::dtype, Dim(static_cast<std::int64_t>(dtype)))});
}

TEST(Simplify, TheSameOfTheSameIsComputedOnce) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {2, 3}), y = p.input(DType::f32, {2, 3});
  const auto scaled = [&](ValueId v) {
    const ValueId e = p.b().expr("exp(v) * 2", {{"v", v}}, DType::f32);
    return p.b().add(Op::permute, {e}, {attr(AttrKey::axes, Dims{1, 0})});
  };
  p.output(p.b().expr("a + b + c", {{"a", scaled(x)}, {"b", scaled(x)}, {"c", scaled(y)}}, DType::f32));
  Program& program = p.b().program();
  run_passes(program, Stage::simplify, Stage::simplify, {});
  EXPECT_EQ(count(program, Op::permute), 2U);
  EXPECT_EQ(count(program, Op::pointwise), 3U);
  Session session(p.model().prepare());
  const std::vector<float> got =
      values_of(session.run({floats({2, 3}, {0, 0, 0, 0, 0, 0}), floats({2, 3}, {0, 0, 0, 0, 0, 0})})[0]);
  EXPECT_EQ(got, std::vector<float>(6, 6.0F));
}

TEST(Simplify, SlicesThatEqualAJoinedOperandReadIt) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {2, 1}), y = p.input(DType::f32, {2, 2});
  const ValueId joined = p.b().concat({x, y}, 1);
  const auto slice = [&](std::int64_t start, std::int64_t length) {
    return p.b().add(Op::slice, {joined},
                     {attr(AttrKey::axis, Dim(-1)), attr(AttrKey::start, Dim(start)),
                      attr(AttrKey::length, Dim(length)), attr(AttrKey::step, Dim(1))});
  };
  p.output(p.b().expr("v * 2", {{"v", slice(1, 2)}}, DType::f32));
  p.output(p.b().expr("v * 3", {{"v", slice(0, 2)}}, DType::f32));
  Program& program = p.b().program();
  run_passes(program, Stage::simplify, Stage::simplify, {});
  EXPECT_EQ(count(program, Op::slice), 1U) << "the second slice has elements of both operands";
  Session session(p.model().prepare());
  const std::vector<Tensor>& out = session.run({floats({2, 1}, {1, 2}), floats({2, 2}, {3, 4, 5, 6})});
  EXPECT_EQ(values_of(out[0]), (std::vector<float>{6, 8, 10, 12}));
  EXPECT_EQ(values_of(out[1]), (std::vector<float>{3, 9, 6, 15}));
}

TEST(Simplify, RandomNumbersAndResultsStay) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {4});
  for (int i = 0; i < 2; ++i) p.output(p.b().expr("x + 1", {{"x", x}}, DType::f32));
  Program& program = p.b().program();
  run_passes(program, Stage::simplify, Stage::simplify, {});
  EXPECT_EQ(count(program, Op::pointwise), 2U) << "each result is a value of its own";
}

TEST(Simplify, FilledOperandsBecomeNumbers) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {4, 1});
  const ValueId z = fill(p, {4, 1}, -3, DType::i8), wide = fill(p, {1, 2}, 0.5, DType::f32);
  p.output(p.b().expr("x + z + w", {{"x", x}, {"z", z}, {"w", wide}}, DType::f32));
  Program& program = p.b().program();
  run_passes(program, Stage::simplify, Stage::simplify, {});
  EXPECT_EQ(count(program, Op::full), 0U);
  ASSERT_EQ(count(program, Op::pointwise), 1U);
  EXPECT_EQ(program.functions[0].nodes.back().inputs.size(), 1U);
  Session session(p.model().prepare());
  EXPECT_EQ(values_of(session.run({floats({4, 1}, {1, 2, 3, 4})})[0]),
            (std::vector<float>{-1.5F, -1.5F, -0.5F, -0.5F, 0.5F, 0.5F, 1.5F, 1.5F}));
}

TEST(Simplify, WhatNoInstructionHoldsStaysAnOperand) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {2});
  const ValueId half = fill(p, {2}, 0.1, DType::f16), large = fill(p, {2}, 1e12, DType::i64);
  p.output(p.b().expr("x + h + l", {{"x", x}, {"h", half}, {"l", large}}, DType::f32));
  Program& program = p.b().program();
  run_passes(program, Stage::simplify, Stage::simplify, {});
  EXPECT_EQ(count(program, Op::full), 2U);
}

// Each product keeps its own rounding node for devices with block products; the quantization itself runs once. The
// number of rows is arbitrary, 0 included.
TEST(Simplify, RoundedActivationsStayBesideTheirProducts) {
  TestProgram p;
  const Dim rows = p.b().pool().symbol("rows", 0, 8);
  const ValueId x = p.input(DType::f32, {rows, 32});
  const microscaling::NarrowFloat& type = *microscaling::find_narrow_float("float8_e4m3fn");
  for (int i = 0; i < 2; ++i) {
    const ValueId y = microscaling::round_to_mx(p.b(), x, type, 32, "floor", DType::f32);
    p.output(p.b().expr("y + i", {{"y", y}, {"i", static_cast<double>(i)}}, DType::f32));
  }
  Program& program = p.b().program();
  run_passes(program, Stage::simplify, Stage::simplify, {});
  EXPECT_EQ(count(program, Op::mx_pack), 1U);
  EXPECT_EQ(count(program, Op::dequantize), 2U);
  Session session(p.model().prepare());
  EXPECT_TRUE(values_of(session.run({floats({0, 32}, {})})[0]).empty());
  // The largest value, 450, has the scale 1 and saturates at 448; 3.3 lies between 3.25 and 3.5.
  std::vector<float> numbers(64, 3.3F), expected(64, 3.25F);
  numbers[0] = 450, expected[0] = 448;
  numbers[40] = -0.01F, expected[40] = -0.009765625F;
  std::fill(expected.begin() + 41, expected.end(), 3.25F);
  EXPECT_EQ(values_of(session.run({floats({2, 32}, numbers)})[0]), expected);
}

}  // namespace
}  // namespace tern
