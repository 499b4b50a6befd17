// Programs with repeated nodes and filled operands, before and after: fewer nodes, the same numbers.
#include "exporter/simplify/simplify.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/runtime/support.h"

namespace tern {
namespace {

using testing::floats;
using testing::TestProgram;
using testing::values_of;

std::size_t count(const Program& p, Op op) {
  return static_cast<std::size_t>(std::ranges::count(p.functions[0].nodes, op, &Node::op));
}

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
  simplify(program);
  EXPECT_EQ(count(program, Op::permute), 2U);
  EXPECT_EQ(count(program, Op::pointwise), 3U);
  Session session(p.model().prepare());
  const std::vector<float> got =
      values_of(session.run({floats({2, 3}, {0, 0, 0, 0, 0, 0}), floats({2, 3}, {0, 0, 0, 0, 0, 0})})[0]);
  EXPECT_EQ(got, std::vector<float>(6, 6.0F));
}

TEST(Simplify, RandomNumbersAndResultsStay) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {4});
  for (int i = 0; i < 2; ++i) p.output(p.b().expr("x + 1", {{"x", x}}, DType::f32));
  Program& program = p.b().program();
  simplify(program);
  EXPECT_EQ(count(program, Op::pointwise), 2U) << "each result is a value of its own";
}

TEST(Simplify, FilledOperandsBecomeNumbers) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {4, 1});
  const ValueId z = fill(p, {4, 1}, -3, DType::i8), wide = fill(p, {1, 2}, 0.5, DType::f32);
  p.output(p.b().expr("x + z + w", {{"x", x}, {"z", z}, {"w", wide}}, DType::f32));
  Program& program = p.b().program();
  simplify(program);
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
  simplify(program);
  EXPECT_EQ(count(program, Op::full), 2U);
}

}  // namespace
}  // namespace tern
