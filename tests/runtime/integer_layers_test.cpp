// Layers of 8-bit integers: the planner keeps images channels-last between layers, and scales, zero points and bounds
// become epilogues. Compared with sums in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "runtime/pack.h"
#include "tests/random_floats.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using test::random_floats;
using testing::floats;
using testing::TestProgram;
using testing::values_of;
using Sizes = std::vector<std::int64_t>;

class IntegerLayersObserver : public PlanObserver {
 public:
  std::map<Op, int> prepared_nodes;
  int integer_rows = 0, channels_last = 0;

 private:
  void prepared(std::uint32_t, std::uint32_t, const Kernel&, const KernelCall& call, AlgorithmChoice choice) override {
    ++prepared_nodes[call.node->op];
    if (choice == Algorithm::integer_rows) ++integer_rows;
    if (call.node->op == Op::convolution && call.out[0].stride(1) == 1) ++channels_last;
  }
};

std::vector<std::int8_t> random_weight(std::int64_t n, unsigned seed) {
  std::vector<std::int8_t> w;
  for (const float v : random_floats(n, seed)) w.push_back(static_cast<std::int8_t>(std::lround(v * 127)));
  return w;
}

constexpr std::int64_t kZero = 100;

double quantized(double x) {
  return std::clamp(std::nearbyint(x * 16) + static_cast<double>(kZero), 0.0, 255.0);
}

/// relu((sum - correction) / 4096) of a 3x3 convolution of quantized x, channel after channel.
std::vector<double> layer(const std::vector<double>& x, const std::vector<std::int8_t>& w, std::int64_t in,
                          std::int64_t out, std::int64_t size) {
  std::vector<double> y;
  for (std::int64_t o = 0; o < out; ++o) {
    for (std::int64_t i = 0; i < size * size; ++i) {
      double sum = 0;
      for (std::int64_t c = 0; c < in; ++c) {
        for (std::int64_t t = 0; t < 9; ++t) {
          const std::int64_t line = i / size + t / 3 - 1, column = i % size + t % 3 - 1;
          if (line < 0 || line >= size || column < 0 || column >= size) continue;  // the zero point stands for 0
          const double q = quantized(x[static_cast<std::size_t>((c * size + line) * size + column)]);
          sum += (q - static_cast<double>(kZero)) * w[static_cast<std::size_t>((o * in + c) * 9 + t)];
        }
      }
      y.push_back(std::max(sum / 4096, 0.0));
    }
  }
  return y;
}

ValueId add_layer(TestProgram& p, ValueId x, const std::vector<std::int8_t>& w, std::int64_t in, std::int64_t out) {
  Builder& b = p.b();
  std::vector<float> corrections;
  for (std::int64_t o = 0; o < out; ++o) {
    float sum = 0;
    for (std::int64_t k = 0; k < in * 9; ++k) sum += static_cast<float>(w[static_cast<std::size_t>(o * in * 9 + k)]);
    corrections.push_back(sum * static_cast<float>(kZero));
  }
  const ValueId q = b.expr("min(max(round(x * 16) + 100, 0), 255)", {{"x", x}}, DType::f32),
                bytes = b.expr("q", {{"q", q}}, DType::u8),
                y = b.add(Op::convolution, {bytes, b.constant(DType::i8, {out, in, 3, 3}, w.data())},
                          {attr(AttrKey::before, Sizes{1, 1}), attr(AttrKey::after, Sizes{1, 1}),
                           attr(AttrKey::fill, Dim(kZero)),
                           attr(AttrKey::dtype, Dim(static_cast<std::int64_t>(DType::f32)))}),
                c = p.state({out, 1, 1}, corrections, false);
  return b.expr("max((y - c) * s, 0)", {{"y", y}, {"c", c}, {"s", b.expr("1.0 / 4096", {}, DType::f32)}}, DType::f32);
}

TEST(IntegerLayers, StayChannelsLastAndScaleTheirSums) {
  const std::int64_t in = 12, between = 40, out = 24, size = 9;
  const auto x = random_floats(in * size * size, 1);
  const auto first = random_weight(between * in * 9, 2), second = random_weight(out * between * 9, 3);
  TestProgram p;
  const ValueId image = p.input(DType::f32, {1, in, size, size});
  p.output(add_layer(p, add_layer(p, image, first, in, between), second, between, out));
  IntegerLayersObserver observer;
  const auto prepared = prepare_program(p.model().program(), {}, {.listeners = {.observer = &observer}});
  Session session((PreparedModel(prepared)));
  const std::vector<float> got = values_of(session.run({floats({1, in, size, size}, x)})[0]);
  const std::vector<double> want =
      layer(layer({x.begin(), x.end()}, first, in, between, size), second, between, out, size);
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(static_cast<double>(got[i]), want[i], 1e-4) << i;
  EXPECT_EQ(observer.integer_rows, 2);
  EXPECT_EQ(observer.channels_last, 2);
  EXPECT_LE(observer.prepared_nodes[Op::pointwise], 1) << "scales and rounding take passes of their own";
}

/// Scales y, adds `added`, and converts to 8-bit integers.
ValueId requantized(TestProgram& p, ValueId y, std::int64_t out, ValueId added) {
  Builder& b = p.b();
  const ValueId s = p.state({out, 1, 1}, random_floats(out, 7), false);
  const ValueId z = added == kNoValue
                        ? b.expr("max(y * s, 0)", {{"y", y}, {"s", s}}, DType::f32)
                        : b.expr("max(y * s + (a - 9) * 0.75, 0)", {{"y", y}, {"s", s}, {"a", added}}, DType::f32);
  const ValueId q = b.expr("min(max(round(z * 0.0625) + 3, 0), 255)", {{"z", z}}, DType::f32);
  return b.expr("q", {{"q", q}}, DType::u8);
}

/// A convolution of bytes, depthwise or full, with or without a residual; fused and unfused bits are equal.
void check_block(std::int64_t channels, std::int64_t out, std::int64_t groups, bool residual, bool twice) {
  const std::int64_t size = 10;
  TestProgram p;
  Builder& b = p.b();
  const ValueId image = p.input(DType::u8, {2, channels, size, size}),
                beside = residual ? p.input(DType::u8, {2, out, size, size}) : kNoValue;
  const auto weight = random_weight(out * channels / groups * 9, 5);
  const auto convolution = [&] {
    return b.add(
        Op::convolution, {image, b.constant(DType::i8, {out, channels / groups, 3, 3}, weight.data())},
        {attr(AttrKey::before, Sizes{1, 1}), attr(AttrKey::after, Sizes{1, 1}), attr(AttrKey::fill, Dim(7)),
         attr(AttrKey::groups, Dim(groups)), attr(AttrKey::dtype, Dim(static_cast<std::int64_t>(DType::f32)))});
  };
  ValueId added = kNoValue;
  if (residual) added = b.expr("x", {{"x", twice ? requantized(p, convolution(), out, kNoValue) : beside}}, DType::f32);
  p.output(requantized(p, convolution(), out, added));
  std::vector<std::uint8_t> bytes;
  for (const float v : random_floats(2 * std::max(channels, out) * size * size, 3))
    bytes.push_back(static_cast<std::uint8_t>(std::lround(std::abs(v) * 255)));
  std::vector<Tensor> inputs = {Tensor::borrow(bytes.data(), DType::u8, {2, channels, size, size})};
  if (residual) inputs.push_back(Tensor::borrow(bytes.data(), DType::u8, {2, out, size, size}));
  const auto run = [&](Fusion fusion, IntegerLayersObserver* observer) {
    Session session(PreparedModel(
        prepare_program(p.model().program(), {}, {.fusion = fusion, .listeners = {.observer = observer}})));
    const Tensor y = session.run(inputs)[0];
    const auto bytes_of = y.span<const std::uint8_t>();
    return std::vector<std::uint8_t>(bytes_of.begin(), bytes_of.end());
  };
  IntegerLayersObserver observer;
  EXPECT_EQ(run(Fusion::enabled, &observer), run(Fusion::disabled, nullptr));
  EXPECT_EQ(observer.prepared_nodes[Op::pointwise], 0) << "rounding takes a pass of its own";
}

TEST(IntegerLayers, StoreBytesThemselves) {
  for (const bool residual : {false, true}) {
    for (const bool twice : {false, true}) {
      check_block(24, 40, 1, residual, twice);
      check_block(64, 64, 64, residual, twice);  // depthwise
      check_block(32, 64, 4, residual, twice);
    }
  }
}

}  // namespace
}  // namespace tern
