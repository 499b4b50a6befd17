// What export computes ahead of time, and what it must not.
#include "exporter/passes/fold/fold.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "exporter/passes/passes.h"
#include "schema/passes/dead_code.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using testing::floats;
using testing::TestProgram;
using testing::values_of;
using Floats = std::vector<float>;

std::vector<Op> fold(TestProgram& p) {
  remove_dead_code(p.program());
  fold_constants(p.program());
  std::vector<Op> ops;
  for (const Node& n : p.program().functions[0].nodes) ops.push_back(n.op);
  return ops;
}

Floats ramp(std::int64_t n, float start = 1) {
  Floats v(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = start + static_cast<float>(i) / 4;
  return v;
}

ValueId batch_norm(TestProgram& p, ValueId x, std::vector<ValueId> parameters, double epsilon) {
  parameters.insert(parameters.begin(), x);
  return p.b().add(Op::batch_norm, std::move(parameters), {attr_number(AttrKey::epsilon, epsilon)});
}

TEST(Fold, WhatDependsOnConstantsBecomesOne) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {2, 3}), w = p.state({3, 2}, ramp(6), false);
  const ValueId half = p.b().expr("w * 0.5", {{"w", w}}, DType::f32);
  const ValueId sum = p.b().reduce(half, "sum", {1}, false, DType::f32);
  p.output(p.b().expr("x + s", {{"x", x}, {"s", sum}}, DType::f32));
  EXPECT_EQ(fold(p), (std::vector<Op>{Op::pointwise}));
  ASSERT_EQ(p.program().states.size(), 1u) << "the weight is not read any more";
  EXPECT_EQ(p.program().states[0].type.shape, (Dims{3}));
  Session s(p.model().prepare());
  EXPECT_EQ(values_of(s.run({floats({2, 3}, Floats(6))})[0]), (Floats{1.125F, 1.625F, 2.125F, 1.125F, 1.625F, 2.125F}));
}

TEST(Fold, ViewsOfConstantsStayViews) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {2, 3}), w = p.state({4, 3}, ramp(12), false);
  p.output(p.b().matmul(x, p.b().transpose(w, 0, 1)));
  p.output(p.b().expr("a + b", {{"a", p.b().full({2, 3}, 2, DType::f32)}, {"b", x}}, DType::f32));
  EXPECT_EQ(fold(p), (std::vector<Op>{Op::permute, Op::matmul, Op::full, Op::pointwise}));
}

TEST(Fold, WrittenStatesAndRandomNumbersAreNotConstants) {
  TestProgram p;
  const ValueId s = p.state({3}, ramp(3), true);
  const ValueId next = p.b().expr("s + 1", {{"s", s}}, DType::f32);
  p.write_back(0, next);
  const ValueId noise = p.b().add(
      Op::random, {}, {attr_text(AttrKey::kind, "uniform"), attr(AttrKey::sizes, Dims{3}), attr_dtype(DType::f32)});
  p.output(p.b().expr("n + 1", {{"n", noise}}, DType::f32));
  EXPECT_EQ(fold(p), (std::vector<Op>{Op::pointwise, Op::random, Op::pointwise}));
}

TEST(Fold, SizesOfAnInputAreNotConstants) {
  TestProgram p;
  const Dim n = p.b().pool().symbol("n", 2, 8);
  p.input(DType::f32, {n});
  const ValueId w = p.state({3}, ramp(3), false);
  p.output(p.b().expr("w * n", {{"w", w}, {"n", p.b().from_dim(n, DType::f32)}}, DType::f32));
  EXPECT_EQ(fold(p), (std::vector<Op>{Op::from_dim, Op::pointwise}));
}

TEST(Fold, LargeResultsAreKeptOnlyIfTheyReplaceAsMuch) {
  constexpr std::int64_t kMany = kSmallConstant;  // 4 bytes each
  TestProgram p;
  const ValueId w = p.state({kMany}, Floats(kMany, 3), false), row = p.state({1, 256}, Floats(256, 2), false);
  const ValueId x = p.input(DType::f32, {kMany}), y = p.input(DType::f32, {kMany / 256, 256});
  p.output(p.b().expr("x * w", {{"x", x}, {"w", p.b().expr("exp(w)", {{"w", w}}, DType::f32)}}, DType::f32));
  const ValueId wide = p.b().expr("r * 2", {{"r", p.b().expand(row, {kMany / 256, 256})}}, DType::f32);
  p.output(p.b().expr("x + w", {{"x", y}, {"w", wide}}, DType::f32));
  EXPECT_EQ(fold(p), (std::vector<Op>{Op::pointwise, Op::expand, Op::pointwise, Op::pointwise}));
  EXPECT_EQ(p.program().states.size(), 2u);
}

/// Each slice of 32 kB is small; all together would be as large as a second weight.
TEST(Fold, SmallConstantsOfALargeStateShareTheBytesOfOne) {
  constexpr std::int64_t kSlices = 8, kSize = 8192;
  TestProgram p;
  const ValueId x = p.input(DType::f32, {kSize}), w = p.state({kSlices, kSize}, ramp(kSlices * kSize), false);
  for (std::int64_t i = 0; i < kSlices; ++i) {
    const ValueId half = p.b().expr("w * 0.5", {{"w", p.b().select(w, 0, Dim(i))}}, DType::f32);
    p.output(p.b().expr("x + w", {{"x", x}, {"w", half}}, DType::f32));
  }
  const std::vector<Op> ops = fold(p);
  EXPECT_EQ(std::ranges::count(ops, Op::pointwise), kSlices + 6);
  EXPECT_EQ(p.program().states.size(), 3u);
}

TEST(Fold, ABatchNormBecomesAMultiplyAndAnAdd) {
  const Floats mean = ramp(4, -1), var = ramp(4, 0.5F), weight = ramp(4, 2), bias = ramp(4, -3), in = ramp(2 * 4 * 5);
  TestProgram p;
  const ValueId x = p.input(DType::f32, {2, 4, 5});
  const ValueId m = p.state({4}, mean, false), v = p.state({4}, var, false), w = p.state({4}, weight, false),
                b = p.state({4}, bias, false);
  p.output(batch_norm(p, x, {m, v, w, b}, 1e-3));
  p.output(batch_norm(p, p.b().cast(x, DType::bf16), {m, v}, 1e-3));
  Session plain(p.model().prepare());
  const std::vector<Tensor>& reference = plain.run({floats({2, 4, 5}, in)});
  const Floats whole = values_of(reference[0]);
  const Tensor narrow = reference[1];
  EXPECT_EQ(fold(p), (std::vector<Op>{Op::pointwise, Op::pointwise, Op::pointwise}));
  EXPECT_EQ(p.program().states.size(), 4u);
  Session s(p.model().prepare());
  const std::vector<Tensor>& out = s.run({floats({2, 4, 5}, in)});
  EXPECT_EQ(values_of(out[0]), whole);
  EXPECT_TRUE(std::equal(narrow.span<std::uint16_t>().begin(), narrow.span<std::uint16_t>().end(),
                         out[1].span<std::uint16_t>().begin()));
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::size_t c = i / 5 % 4;
    const double want = (in[i] - mean[c]) / std::sqrt(double{var[c]} + 1e-3) * weight[c] + bias[c];
    EXPECT_NEAR(values_of(out[0])[i], want, 1e-5 * std::abs(want) + 1e-5);
  }
}

TEST(Fold, ABatchNormThatLearnsStays) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {2, 3, 4}), mean = p.state({3}, ramp(3), true),
                var = p.state({3}, ramp(3), false);
  p.write_back(0, p.b().expr("m * 0.5", {{"m", mean}}, DType::f32));
  p.output(batch_norm(p, x, {mean, var}, 1e-5));
  EXPECT_EQ(fold(p), (std::vector<Op>{Op::pointwise, Op::batch_norm}));
}

/// A 1x1 convolution from two channels to two, then a batch norm.
struct Normed {
  TestProgram p;
  ValueId x, weight, convolved, result;
  explicit Normed(bool mutable_weight = false) {
    x = p.input(DType::f32, {1, 2, 2, 2});
    weight = p.state({2, 2, 1, 1}, {1, 2, 3, 4}, mutable_weight);
    convolved = p.b().add(Op::convolution, {x, weight, p.state({2}, {1, -1}, false)},
                          {attr(AttrKey::strides, Dims{1, 1}), attr(AttrKey::before, Dims{0, 0}),
                           attr(AttrKey::after, Dims{0, 0}), attr(AttrKey::dilations, Dims{1, 1})});
    result = batch_norm(p, convolved,
                        {p.state({2}, {1, 2}, false), p.state({2}, {3, 8}, false), p.state({2}, {2, 6}, false),
                         p.state({2}, {0.5F, -0.5F}, false)},
                        1);
  }
};

TEST(Fold, BatchNormsOfConvolutionsGoIntoTheirWeights) {
  Normed n;
  n.p.output(n.result);
  EXPECT_EQ(fold(n.p), (std::vector<Op>{Op::convolution}));
  EXPECT_EQ(n.p.program().states.size(), 2u) << "the weight and a bias";
  Session s(n.p.model().prepare());
  // Scales 2 / sqrt(4) = 1 and 6 / sqrt(9) = 2; x is 1 in the first channel and 10 in the second.
  const Floats y = values_of(s.run({floats({1, 2, 2, 2}, {1, 1, 1, 1, 10, 10, 10, 10})})[0]);
  EXPECT_EQ(y, (Floats{21.5F, 21.5F, 21.5F, 21.5F, 79.5F, 79.5F, 79.5F, 79.5F}));
}

TEST(Fold, ConvolutionsThatOthersReadKeepTheirWeights) {
  Normed also_a_result;
  also_a_result.p.output(also_a_result.result);
  also_a_result.p.output(also_a_result.convolved);
  EXPECT_EQ(fold(also_a_result.p), (std::vector<Op>{Op::convolution, Op::pointwise}));
  Normed shared;
  shared.p.output(shared.result);
  shared.p.output(shared.p.b().expr("w + 1", {{"w", shared.weight}}, DType::f32));
  EXPECT_EQ(fold(shared.p)[1], Op::pointwise);
  Normed written(true);
  written.p.output(written.result);
  EXPECT_EQ(fold(written.p), (std::vector<Op>{Op::convolution, Op::pointwise}));
}

/// Two convolutions of one channel, to one and two channels, joined, normed and rectified.
struct Joined {
  TestProgram p;
  ValueId x, first, second;
  Joined() {
    x = p.input(DType::f32, {1, 1, 2, 2});
    first = convolution({5}, 1);
    second = convolution({1, -2}, 2);
    const ValueId joined = p.b().concat({first, second}, 1);
    const ValueId norm = batch_norm(p, joined,
                                    {p.state({3}, {1, 2, 3}, false), p.state({3}, {3, 8, 15}, false),
                                     p.state({3}, {2, 6, 4}, false), p.state({3}, {0.5F, -0.5F, 20}, false)},
                                    1);
    p.output(p.b().expr("max(x, 0)", {{"x", norm}}, DType::f32));
  }
  ValueId convolution(const Floats& weight, std::int64_t channels) {
    return p.b().add(Op::convolution, {x, p.state({channels, 1, 1, 1}, weight, false)},
                     {attr(AttrKey::strides, Dims{1, 1}), attr(AttrKey::before, Dims{0, 0}),
                      attr(AttrKey::after, Dims{0, 0}), attr(AttrKey::dilations, Dims{1, 1})});
  }
  Floats run() {
    Session s(p.model().prepare());
    return values_of(s.run({floats({1, 1, 2, 2}, {1, 2, 3, 4})})[0]);
  }
};

TEST(Fold, NormsOfJoinedConvolutionsMoveIntoTheBranches) {
  Joined j;
  EXPECT_EQ(fold(j.p), (std::vector<Op>{Op::convolution, Op::convolution, Op::pointwise, Op::pointwise, Op::concat}));
  // 5 x - 0.5, 2 (x - 2) - 0.5 and (-2 x - 3) + 20, of which negative numbers become zero.
  EXPECT_EQ(j.run(), (Floats{4.5F, 9.5F, 14.5F, 19.5F, 0, 0, 1.5F, 3.5F, 15, 13, 11, 9}));
}

TEST(Fold, NormsOfBranchesThatOthersReadStay) {
  Joined j;
  j.p.output(j.second);
  EXPECT_EQ(fold(j.p), (std::vector<Op>{Op::convolution, Op::convolution, Op::concat, Op::pointwise, Op::pointwise}));
}

}  // namespace
}  // namespace tern
