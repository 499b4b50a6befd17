// Spelled-out normalizations become a single node; lookalikes stay.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

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

constexpr double kEpsilon = 1e-3;

/// The parts of a norm, a node each, as from PyTorch's operators.
class Norm : public ::testing::Test {
 protected:
  TestProgram p;

  ValueId call(std::string_view text, std::vector<ExprArg> args, DType t = DType::f32) {
    return p.b().expr(text, std::move(args), t);
  }
  ValueId mean(ValueId x, std::vector<std::int64_t> axes = {-1}, bool keep = true) {
    return p.b().reduce(x, "mean", axes, keep, p.b().dtype(x));
  }
  ValueId square(ValueId x) { return call("x * x", {{"x", x}}); }
  ValueId shifted(ValueId m) { return call("m + e", {{"m", m}, {"e", kEpsilon}}); }
  ValueId rsqrt(ValueId v) { return call("rsqrt(v)", {{"v", v}}); }
  ValueId times(ValueId a, ValueId b, DType t = DType::f32) { return call("a * b", {{"a", a}, {"b", b}}, t); }
  /// x * rsqrt(mean(x^2) + epsilon)
  ValueId normalized(ValueId x) { return times(x, rsqrt(shifted(mean(square(x))))); }

  Program& simplified(ValueId result) {
    p.output(result);
    Program& program = p.b().program();
    run_passes(program, Stage::simplify, Stage::simplify, {});
    return program;
  }
  const Node& last() { return p.program().functions[0].nodes.back(); }
};

/// Rows of three, in double.
std::vector<double> rms_norm(const std::vector<float>& x, const std::vector<double>& weight) {
  std::vector<double> y;
  for (std::size_t row = 0; row < x.size(); row += 3) {
    double squares = 0;
    for (std::size_t i = 0; i < 3; ++i) squares += double{x[row + i]} * x[row + i];
    for (std::size_t i = 0; i < 3; ++i) y.push_back(x[row + i] / std::sqrt(squares / 3 + kEpsilon) * weight[i]);
  }
  return y;
}

const std::vector<float> kNumbers = {1, -2, 3, 0.5F, 0.25F, -4};

void expect_near(const std::vector<float>& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-6) << i;
}

TEST_F(Norm, OfRootMeanSquareTakesItsWeight) {
  const Dim rows = p.b().pool().symbol("rows", 0, 8);
  const ValueId x = p.input(DType::f32, {rows, 3}), w = p.state({3}, {2, 0.5F, -1}, false);
  const Program& program = simplified(times(w, normalized(x)));
  ASSERT_EQ(program.functions[0].nodes.size(), 1U);
  EXPECT_EQ(last().op, Op::rms_norm);
  EXPECT_EQ(last().inputs, (std::vector<ValueId>{x, w}));
  EXPECT_EQ(last().integer(AttrKey::k), 1);
  EXPECT_EQ(last().number(AttrKey::epsilon), kEpsilon);
  Session session(p.model().prepare());
  expect_near(values_of(session.run({floats({2, 3}, kNumbers)})[0]), rms_norm(kNumbers, {2, 0.5, -1}));
  EXPECT_TRUE(values_of(session.run({floats({0, 3}, {})})[0]).empty());
}

TEST_F(Norm, DividesByARootInOtherWords) {
  const ValueId x = p.input(DType::f32, {2, 3});
  const auto root = [&](ValueId v) {
    const ValueId m = shifted(mean(square(v)));
    return call("sqrt(m)", {{"m", m}});
  };
  const ValueId quotient = call("x / r", {{"x", x}, {"r", root(x)}});
  const ValueId y = p.input(DType::f32, {2, 3});
  const ValueId inverse = call("reciprocal(r)", {{"r", root(y)}});
  const ValueId z = p.input(DType::f32, {2, 3});
  const ValueId one_over = call("1 / r", {{"r", root(z)}});
  p.output(quotient);
  p.output(times(y, inverse));
  EXPECT_EQ(count(simplified(times(one_over, z)), Op::rms_norm), 3U);
  Session session(p.model().prepare());
  const Tensor numbers = floats({2, 3}, kNumbers);
  for (const Tensor& got : session.run({numbers, numbers, numbers})) {
    expect_near(values_of(got), rms_norm(kNumbers, {1, 1, 1}));
  }
}

TEST_F(Norm, OfSeveralLastAxes) {
  const ValueId x = p.input(DType::f32, {4, 2, 3}), w = p.input(DType::f32, {2, 3});
  const ValueId r = rsqrt(shifted(mean(square(x), {1, 2})));
  EXPECT_EQ(count(simplified(times(times(x, r), w)), Op::pointwise), 0U);
  EXPECT_EQ(last().integer(AttrKey::k), 2);
}

// Llama in 16 bits: a node up to the rounding before the weight, and a node for the weight's product.
TEST_F(Norm, RoundsBeforeItsWeight) {
  const ValueId x = p.input(DType::bf16, {2, 3}), w = p.input(DType::bf16, {3});
  const ValueId rounded = p.b().cast(normalized(p.b().cast(x, DType::f32)), DType::bf16);
  const Program& program = simplified(times(w, rounded, DType::bf16));
  ASSERT_EQ(program.functions[0].nodes.size(), 2U);
  EXPECT_EQ(program.functions[0].nodes[0].op, Op::rms_norm);
  EXPECT_EQ(program.functions[0].nodes[0].inputs, (std::vector<ValueId>{x, kNoValue}));
  EXPECT_EQ(last().op, Op::pointwise);
}

// Gemma: the weight is multiplied in float32, and rounded with the result.
TEST_F(Norm, RoundsBehindAWeightOfFloats) {
  const ValueId x = p.input(DType::f16, {2, 3}), w = p.input(DType::f32, {3});
  simplified(p.b().cast(times(normalized(p.b().cast(x, DType::f32)), w), DType::f16));
  ASSERT_EQ(p.program().functions[0].nodes.size(), 1U);
  EXPECT_EQ(last().inputs, (std::vector<ValueId>{x, w}));
}

// T5: the product reads the operand of the widening conversion.
TEST_F(Norm, ProductsReadNarrowNumbers) {
  const ValueId x = p.input(DType::bf16, {2, 3});
  const ValueId r = rsqrt(shifted(mean(square(p.b().cast(x, DType::f32)))));
  simplified(p.b().cast(times(x, r), DType::bf16));
  ASSERT_EQ(p.program().functions[0].nodes.size(), 1U);
  EXPECT_EQ(last().inputs[0], x);
}

TEST_F(Norm, OfDistancesFromTheMeanIsALayerNorm) {
  const ValueId x = p.input(DType::f32, {2, 3}), w = p.state({3}, {2, 0.5F, -1}, false),
                b = p.state({3}, {1, 0, 3}, false);
  const auto centred = [&] { return call("x - m", {{"x", x}, {"m", mean(x)}}); };  // repeated, as in real programs
  const ValueId r = rsqrt(shifted(mean(square(centred()))));
  const ValueId scaled = times(times(centred(), r), w);
  simplified(call("s + b", {{"s", scaled}, {"b", b}}));
  ASSERT_EQ(p.program().functions[0].nodes.size(), 1U);
  EXPECT_EQ(last().op, Op::layer_norm);
  EXPECT_EQ(last().inputs, (std::vector<ValueId>{x, w, b}));
  Session session(p.model().prepare());
  std::vector<float> away;
  for (std::size_t row = 0; row < 6; row += 3) {
    const float middle = (kNumbers[row] + kNumbers[row + 1] + kNumbers[row + 2]) / 3;
    for (std::size_t i = 0; i < 3; ++i) away.push_back(kNumbers[row + i] - middle);
  }
  std::vector<double> expected = rms_norm(away, {2, 0.5, -1});
  for (std::size_t i = 0; i < 6; ++i) expected[i] += i % 3 == 0 ? 1 : i % 3 == 1 ? 0 : 3;
  expect_near(values_of(session.run({floats({2, 3}, kNumbers)})[0]), expected);
}

TEST_F(Norm, DistancesWithAnotherReaderStay) {
  const ValueId x = p.input(DType::f32, {2, 3});
  const ValueId d = call("x - m", {{"x", x}, {"m", mean(x)}});
  p.output(d);
  const Program& program = simplified(normalized(d));
  EXPECT_EQ(count(program, Op::layer_norm), 0U);
  EXPECT_EQ(count(program, Op::rms_norm), 1U);
}

// Lookalikes of norms.
class NoNorm : public Norm {
 protected:
  void expect_none(ValueId result) {
    const Program& program = simplified(result);
    EXPECT_EQ(count(program, Op::rms_norm) + count(program, Op::layer_norm), 0U);
  }
};

TEST_F(NoNorm, WhereAnythingElseReadsAPart) {
  for (std::size_t part = 0; part < 4; ++part) {
    p = TestProgram();
    const ValueId x = p.input(DType::f32, {2, 3});
    std::vector<ValueId> parts = {square(x)};
    parts.push_back(mean(parts.back()));
    parts.push_back(shifted(parts.back()));
    parts.push_back(rsqrt(parts.back()));
    p.output(parts[part]);
    expect_none(times(x, parts.back()));
  }
}
TEST_F(NoNorm, OverAnotherAxis) {
  const ValueId x = p.input(DType::f32, {2, 3, 3});
  expect_none(times(x, rsqrt(shifted(mean(square(x), {1})))));
}
TEST_F(NoNorm, OverAxesWithAGap) {
  const ValueId x = p.input(DType::f32, {2, 3, 3});
  expect_none(times(x, rsqrt(shifted(mean(square(x), {0, 2})))));
}
TEST_F(NoNorm, WithoutKeptAxes) {
  const ValueId x = p.input(DType::f32, {3, 3});
  expect_none(times(x, rsqrt(shifted(mean(square(x), {-1}, false)))));
}
TEST_F(NoNorm, WithoutEpsilon) {
  const ValueId x = p.input(DType::f32, {2, 3});
  expect_none(times(x, rsqrt(mean(square(x)))));
}
TEST_F(NoNorm, WithEpsilonOfAnInput) {
  const ValueId x = p.input(DType::f32, {2, 3}), e = p.input(DType::f32, {});
  expect_none(times(x, rsqrt(call("m + e", {{"m", mean(square(x))}, {"e", e}}))));
}
TEST_F(NoNorm, OfASum) {
  const ValueId x = p.input(DType::f32, {2, 3});
  expect_none(times(x, rsqrt(shifted(p.b().reduce(square(x), "sum", {-1}, true, DType::f32)))));
}
TEST_F(NoNorm, OfOtherNumbers) {
  const ValueId x = p.input(DType::f32, {2, 3}), y = p.input(DType::f32, {2, 3});
  expect_none(times(y, rsqrt(shifted(mean(square(x))))));
}
TEST_F(NoNorm, OfNumbersThatBroadcast) {
  const ValueId x = p.input(DType::f32, {1, 3}), y = p.input(DType::f32, {2, 1});
  const ValueId r = rsqrt(shifted(mean(square(x))));
  expect_none(times(y, r));
}
TEST_F(NoNorm, OfProductsOfTwo) {
  const ValueId x = p.input(DType::f32, {2, 3}), y = p.input(DType::f32, {2, 3});
  expect_none(times(x, rsqrt(shifted(mean(times(x, y))))));
}
// 16 bits throughout: each step rounds, unlike the op.
TEST_F(NoNorm, ThatRoundsEachStep) {
  const ValueId x = p.input(DType::bf16, {2, 3});
  const ValueId s = call("x * x", {{"x", x}}, DType::bf16), m = mean(s);
  const ValueId e = call("m + e", {{"m", m}, {"e", kEpsilon}}, DType::bf16);
  expect_none(times(x, call("rsqrt(v)", {{"v", e}}, DType::bf16), DType::bf16));
}

TEST_F(Norm, AWeightThatBroadcastsStays) {
  const ValueId x = p.input(DType::f32, {2, 3}), w = p.input(DType::f32, {2, 1});
  const Program& program = simplified(times(normalized(x), w));
  EXPECT_EQ(count(program, Op::rms_norm), 1U);
  EXPECT_EQ(last().op, Op::pointwise);
}

TEST_F(Norm, ResultsStayBesideTheirProducts) {
  const ValueId x = p.input(DType::f32, {2, 3}), w = p.input(DType::f32, {3});
  const ValueId y = normalized(x);
  p.output(y);
  const Program& program = simplified(times(y, w));
  EXPECT_EQ(count(program, Op::rms_norm), 1U);
  EXPECT_EQ(count(program, Op::pointwise), 1U);
}

}  // namespace
}  // namespace tern
