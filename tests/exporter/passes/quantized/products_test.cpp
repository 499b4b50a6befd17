// Products of quantized operands: their operands after export, and results against sums in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "exporter/passes/passes.h"
#include "schema/passes/dead_code.h"
#include "tests/random_floats.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using testing::floats;
using testing::TestProgram;
using testing::values_of;
using Floats = std::vector<float>;
using Ops = std::vector<Op>;

constexpr std::int64_t kProductsRows = 3, kProductsColumns = 24, kProductsDepth = 64;

Ops ops_of(const TestProgram& p) {
  Ops ops;
  for (const Node& n : const_cast<TestProgram&>(p).program().functions[0].nodes) ops.push_back(n.op);
  return ops;
}

Floats run(TestProgram& p, const Tensor& x) {
  Session s(p.model().prepare());
  return values_of(s.run({x})[0]);
}

std::vector<std::int8_t> codes(std::int64_t count, int lower, int upper) {
  std::vector<std::int8_t> c(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < c.size(); ++i)
    c[i] = static_cast<std::int8_t>(lower +
                                    static_cast<int>((i * 37 + i / 11) % static_cast<std::size_t>(upper - lower + 1)));
  return c;
}

/// x w^T in double.
std::vector<double> products(const Floats& x, const std::vector<double>& w, std::int64_t n, std::int64_t k) {
  std::vector<double> y;
  for (std::size_t i = 0; i < x.size(); i += static_cast<std::size_t>(k)) {
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t c = 0; c < k; ++c)
        sum += static_cast<double>(x[i + static_cast<std::size_t>(c)]) * w[static_cast<std::size_t>(j * k + c)];
      y.push_back(sum);
    }
  }
  return y;
}

void expect_near(const Floats& actual, const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], tolerance) << i;
}

TEST(QuantizedProducts, GroupsThatShareAScaleBecomeAQuantizedState) {
  TestProgram p;
  Builder& b = p.b();
  constexpr std::int64_t kGroup = 32, kGroups = kProductsDepth / kGroup;
  const auto q = codes(kProductsColumns * kProductsDepth, 0, 15);
  const Floats scales = test::random_floats(kProductsColumns * kGroups, 2), zeros(scales.size(), 7),
               input = test::random_floats(kProductsRows * kProductsDepth, 1);
  const ValueId x = p.input(DType::f32, {kProductsRows, kProductsDepth});
  const ValueId elements = b.cast(b.constant(DType::u8, {kProductsColumns, kGroups, kGroup}, q.data()), DType::f32);
  const ValueId w = b.expr("(q - z) * s",
                           {{"q", elements},
                            {"z", b.constant(DType::f32, {kProductsColumns, kGroups, 1}, zeros.data())},
                            {"s", b.constant(DType::f32, {kProductsColumns, kGroups, 1}, scales.data())}},
                           DType::f32);
  p.output(b.matmul(x, b.transpose(b.reshape(w, {kProductsColumns, kProductsDepth}), 0, 1)));
  read_quantized_weights(p.program());
  EXPECT_EQ(ops_of(p), Ops{Op::matmul});
  ASSERT_EQ(p.program().states.size(), 1u);
  const TensorType& t = p.program().states[0].type;
  EXPECT_EQ(t.dtype, DType::i4) << "0 to 15 less 7 are -7 to 8: four bits with a zero point";
  EXPECT_EQ(t.blocks.columns, kGroup);
  std::vector<double> numbers;
  for (std::size_t i = 0; i < q.size(); ++i) numbers.push_back((q[i] - 7.0) * static_cast<double>(scales[i / kGroup]));
  expect_near(run(p, floats({kProductsRows, kProductsDepth}, input)),
              products(input, numbers, kProductsColumns, kProductsDepth), 1e-4);
}

TEST(QuantizedProducts, WhatIsNotBitForBitStays) {
  TestProgram p;
  Builder& b = p.b();
  const Floats w = test::random_floats(kProductsColumns * kProductsDepth, 3),
               s = test::random_floats(kProductsColumns, 4);
  const ValueId x = p.input(DType::f32, {kProductsRows, kProductsDepth});
  const ValueId v = b.expr("w * s",
                           {{"w", b.constant(DType::f32, {kProductsColumns, kProductsDepth}, w.data())},
                            {"s", b.constant(DType::f32, {kProductsColumns, 1}, s.data())}},
                           DType::f32);
  p.output(b.matmul(x, b.transpose(v, 0, 1)));
  read_quantized_weights(p.program());
  EXPECT_EQ(ops_of(p), (Ops{Op::pointwise, Op::permute, Op::matmul}));
}

/// x quantized to uint8 by numbers and back, and an int8 weight with a scale for each row.
struct Static {
  static constexpr double kScale = 0.05, kZero = 131;
  TestProgram p;
  std::vector<std::int8_t> elements;
  Floats scales, bias = test::random_floats(kProductsColumns, 5);

  ValueId dequantized(ValueId x) {
    Builder& b = p.b();
    const ValueId q = b.expr("min(max(round(x * inverse) + zero, 0), 255)",
                             {{"x", x}, {"inverse", 1 / kScale}, {"zero", kZero}}, DType::f32, DType::u8);
    return b.expr("(q - zero) * scale", {{"q", q}, {"zero", kZero}, {"scale", kScale}}, DType::f32);
  }
  ValueId weight(const std::vector<std::int64_t>& sizes) {
    Builder& b = p.b();
    std::int64_t count = 1;
    for (std::int64_t n : sizes) count *= n;
    elements = codes(count, -127, 127);
    scales = test::random_floats(sizes[0], 6);
    for (float& s : scales) s = std::fabs(s) + .01F;
    std::vector<std::int64_t> shape(sizes.size(), 1);
    shape[0] = sizes[0];
    return b.expr("q * s",
                  {{"q", b.cast(b.constant(DType::i8, sizes, elements.data()), DType::f32)},
                   {"s", b.constant(DType::f32, shape, scales.data())}},
                  DType::f32);
  }
  static double number(float x) {
    const double q = std::clamp(std::nearbyint(static_cast<double>(x) / kScale) + kZero, 0.0, 255.0);
    return (q - kZero) * kScale;
  }
};

TEST(QuantizedProducts, DequantizedOperandsMultiplyAsIntegers) {
  Static m;
  Builder& b = m.p.b();
  const Floats input = test::random_floats(kProductsRows * kProductsDepth, 7);
  const ValueId x = m.p.input(DType::f32, {kProductsRows, kProductsDepth});
  const ValueId w = b.transpose(m.weight({kProductsColumns, kProductsDepth}), 0, 1);
  m.p.output(b.add(Op::matmul, {m.dequantized(x), w, b.constant(DType::f32, {kProductsColumns}, m.bias.data())}));
  multiply_integers(m.p.program());
  EXPECT_EQ(ops_of(m.p), (Ops{Op::pointwise, Op::permute, Op::matmul, Op::pointwise})) << "quantize, multiply, scale";
  const Function& f = m.p.program().functions[0];
  const Node& product = *std::ranges::find(f.nodes, Op::matmul, &Node::op);
  EXPECT_EQ(f.values[static_cast<std::size_t>(product.inputs[0])].type.dtype, DType::u8);
  EXPECT_EQ(f.values[static_cast<std::size_t>(product.inputs[1])].type.dtype, DType::i8);
  Floats rounded;
  for (const float v : input) rounded.push_back(static_cast<float>(Static::number(v)));
  std::vector<double> numbers;
  for (std::size_t i = 0; i < m.elements.size(); ++i)
    numbers.push_back(m.elements[i] * static_cast<double>(m.scales[i / kProductsDepth]));
  std::vector<double> expected = products(rounded, numbers, kProductsColumns, kProductsDepth);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += static_cast<double>(m.bias[i % kProductsColumns]);
  expect_near(run(m.p, floats({kProductsRows, kProductsDepth}, input)), expected, 2e-2);
}

TEST(QuantizedProducts, ConvolutionsPadWithTheZeroPoint) {
  Static m;
  Builder& b = m.p.b();
  constexpr std::int64_t kSide = 5, kIn = 4, kOut = 8;
  const Floats input = test::random_floats(kIn * kSide * kSide, 8);
  const ValueId x = m.p.input(DType::f32, {1, kIn, kSide, kSide});
  Node n;
  n.op = Op::convolution;
  n.inputs = {m.dequantized(x), m.weight({kOut, kIn, 3, 3})};
  n.set(AttrKey::strides, Dims{1, 1});
  n.set(AttrKey::dilations, Dims{1, 1});
  n.set(AttrKey::before, Dims{1, 1});
  n.set(AttrKey::after, Dims{1, 1});
  n.set(AttrKey::groups, Dims{1});
  m.p.output(b.add(std::move(n)).front());
  multiply_integers(m.p.program());
  const Function& f = m.p.program().functions[0];
  const Node& result = *std::ranges::find(f.nodes, Op::convolution, &Node::op);
  EXPECT_EQ(f.values[static_cast<std::size_t>(result.inputs[0])].type.dtype, DType::u8);
  EXPECT_EQ(result.integer(AttrKey::fill), 131);
  std::vector<double> expected;
  for (std::int64_t o = 0; o < kOut; ++o) {
    for (std::int64_t i = 0; i < kSide; ++i) {
      for (std::int64_t j = 0; j < kSide; ++j) {
        double sum = 0;
        for (std::int64_t c = 0; c < kIn; ++c) {
          for (std::int64_t t = 0; t < 9; ++t) {
            const std::int64_t y = i + t / 3 - 1, z = j + t % 3 - 1;
            if (y < 0 || y >= kSide || z < 0 || z >= kSide) continue;
            sum += Static::number(input[static_cast<std::size_t>((c * kSide + y) * kSide + z)]) *
                   m.elements[static_cast<std::size_t>((o * kIn + c) * 9 + t)];
          }
        }
        expected.push_back(sum * static_cast<double>(m.scales[static_cast<std::size_t>(o)]));
      }
    }
  }
  expect_near(run(m.p, floats({1, kIn, kSide, kSide}, input)), expected, 2e-2);
}

/// int8 activations shifted to unsigned for the product, then corrected; `wrong` spoils a single sum.
Ops shifted(std::int32_t wrong, Floats* result = nullptr) {
  TestProgram p;
  Builder& b = p.b();
  const auto elements = codes(kProductsColumns * kProductsDepth, -127, 127);
  const ValueId x = p.input(DType::f32, {kProductsRows, kProductsDepth});
  const ValueId q = b.expr("min(max(round(x), -128), 127)", {{"x", x}}, DType::f32, DType::i8);
  const ValueId up = b.expr("q + 128", {{"q", b.cast(q, DType::i32)}}, DType::i64, DType::i32);
  const ValueId w = b.transpose(b.constant(DType::i8, {kProductsColumns, kProductsDepth}, elements.data()), 0, 1);
  std::vector<std::int32_t> sums(kProductsColumns);
  for (std::size_t i = 0; i < elements.size(); ++i) sums[i / kProductsDepth] += 128 * elements[i];
  sums[3] += wrong;
  const ValueId product = b.add(Op::matmul, {b.cast(up, DType::u8), w}, {attr_dtype(DType::i32)});
  const ValueId right =
      b.expr("p - s", {{"p", product}, {"s", b.constant(DType::i32, {kProductsColumns}, sums.data())}}, DType::i64,
             DType::i32);
  p.output(b.expr("p * 0.5", {{"p", b.cast(right, DType::f32)}}, DType::f32));
  multiply_signed_integers(p.program());
  take_float_sums(p.program());
  if (result != nullptr) {
    const Floats input = test::random_floats(kProductsRows * kProductsDepth, 9);
    Floats whole;
    for (const float v : input) whole.push_back(std::nearbyint(v * 40));
    *result = run(p, floats({kProductsRows, kProductsDepth}, whole));
    std::vector<double> numbers(elements.begin(), elements.end()),
        expected = products(whole, numbers, kProductsColumns, kProductsDepth);
    for (double& e : expected) e *= .5;
    expect_near(*result, expected, 0);
  }
  return ops_of(p);
}

TEST(QuantizedProducts, SignedIntegersAreMultipliedAsSuch) {
  Floats result;
  EXPECT_EQ(shifted(0, &result), (Ops{Op::pointwise, Op::permute, Op::matmul, Op::pointwise}));
  const Ops retained = shifted(1);
  EXPECT_EQ(std::ranges::count(retained, Op::pointwise), 7) << "the sums are not those of the weight";
}

TEST(QuantizedProducts, FloatWeightsThatIntegersReplaceAreDropped) {
  TestProgram p;
  Builder& b = p.b();
  const auto q = codes(kProductsColumns * kProductsDepth, -8, 7);
  const Floats w(static_cast<std::size_t>(kProductsColumns * kProductsDepth), 1.0F), other(40, 2.0F);
  const ValueId x = p.input(DType::f32, {kProductsRows, kProductsDepth});
  b.constant(DType::f32, {kProductsColumns, kProductsDepth}, w.data());  // read by nothing
  b.constant(DType::f32, {5, 8}, other.data());                          // another shape
  const ValueId elements = b.constant(DType::i8, {kProductsColumns, kProductsDepth}, q.data());
  p.output(b.matmul(x, b.transpose(b.cast(elements, DType::f32), 0, 1)));
  remove_superseded_weights(p.program());
  EXPECT_EQ(p.program().states.size(), 2u);
}

}  // namespace
}  // namespace tern
