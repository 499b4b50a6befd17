// Convolutions by quantized weights in bfloat16 against the same by float64 sums, whatever layout the planner chooses.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "exporter/passes/passes.h"
#include "tests/random_floats.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using test::random_floats;
using testing::floats;
using testing::TestProgram;
using testing::values_of;
using Sizes = std::vector<std::int64_t>;

struct QuantizedConvolutionImage {
  const char* name;
  std::int64_t batch, groups, in, out, size, kernel, stride, padding;
};
const QuantizedConvolutionImage kQuantizedConvolutionImages[] = {
    {"three by three", 2, 1, 64, 96, 9, 3, 1, 1},
    {"one by one", 1, 1, 96, 64, 8, 1, 1, 0},
    {"strided", 1, 1, 64, 64, 15, 3, 2, 1},
    {"groups", 1, 2, 32, 48, 10, 3, 1, 1},
    {"one by one, strided", 1, 1, 64, 128, 14, 1, 2, 0},
};

/// Two convolutions, so that the value in between has a layout, too; with a sum and a maximum to fuse.
TestProgram program_of(const QuantizedConvolutionImage& k, const char* format) {
  TestProgram p;
  auto& b = p.b();
  const std::int64_t in = k.groups * k.in, out = k.groups * k.out;
  const auto convolution = [&](ValueId x, std::int64_t to, std::int64_t from, std::int64_t kernel, std::int64_t stride,
                               std::int64_t padding, std::int64_t groups, int seed) {
    std::vector<float> w = random_floats(to * from * kernel * kernel, seed);
    for (float& v : w) v /= std::sqrt(static_cast<float>(from * kernel * kernel));
    return b.add(Op::convolution,
                 {x, p.state({to, from, kernel, kernel}, w, false), p.state({to}, random_floats(to, seed + 1), false)},
                 {attr(AttrKey::strides, Sizes{stride, stride}), attr(AttrKey::dilations, Sizes{1, 1}),
                  attr(AttrKey::before, Sizes{padding, padding}), attr(AttrKey::after, Sizes{padding, padding}),
                  attr(AttrKey::groups, Dim(groups))});
  };
  const ValueId x = p.input(DType::f32, {k.batch, in, k.size, k.size});
  const ValueId y = convolution(x, out, k.in, k.kernel, k.stride, k.padding, k.groups, 2);
  const ValueId z = convolution(b.expr("max(y, 0.0)", {{"y", y}}, DType::f32), out, out, 1, 1, 0, 1, 4);
  p.output(b.expr("z + y", {{"y", y}, {"z", z}}, DType::f32));
  const quantize::Format* const f = quantize::find_format(format);
  const QuantizeReport report = quantize_weights(p.program(), {{{f, f->block}, ""}}, {});
  EXPECT_EQ(report.weights.size(), 2U) << k.name << ", " << format;
  return p;
}

std::vector<float> run(const TestProgram& p, const Tensor& x, Precision precision, bool reproducible) {
  PrepareOptions options;
  options.precision = precision;
  options.reproducible = reproducible;
  Session session((p.model().prepare(options)));
  return values_of(session.run({x})[0]);
}

TEST(QuantizedConvolutions, InBfloat16) {
  for (const QuantizedConvolutionImage& k : kQuantizedConvolutionImages) {
    const std::int64_t in = k.groups * k.in;
    const Tensor x = floats({k.batch, in, k.size, k.size}, random_floats(k.batch * in * k.size * k.size, 1));
    for (const char* format : {"int8", "int4", "float8", "mxfp4", "nvfp4"}) {
      const TestProgram p = program_of(k, format);
      const std::vector<float> want = run(p, x, Precision::exported, true), got = run(p, x, Precision::bfloat16, false);
      ASSERT_EQ(got.size(), want.size());
      double energy = 0, noise = 0;
      for (std::size_t i = 0; i < want.size(); ++i) {
        energy += static_cast<double>(want[i]) * static_cast<double>(want[i]);
        noise += std::pow(static_cast<double>(got[i]) - static_cast<double>(want[i]), 2);
      }
      EXPECT_LT(noise, energy * 1e-4) << k.name << ", " << format;  // 40 dB
    }
  }
}

/// Infinities reach the same elements as in float32.
TEST(QuantizedConvolutions, InfinitiesInBfloat16) {
  const QuantizedConvolutionImage k = kQuantizedConvolutionImages[0];
  std::vector<float> numbers = random_floats(k.batch * k.in * k.size * k.size, 1);
  numbers[40] = std::numeric_limits<float>::infinity();
  const Tensor x = floats({k.batch, k.in, k.size, k.size}, numbers);
  const TestProgram p = program_of(k, "int8");
  const std::vector<float> want = run(p, x, Precision::exported, true), got = run(p, x, Precision::bfloat16, false);
  std::int64_t strange = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(std::isfinite(want[i]), std::isfinite(got[i])) << i;
    strange += std::isfinite(want[i]) ? 0 : 1;
  }
  EXPECT_GT(strange, 0);
}

}  // namespace
}  // namespace tern
