// Products and convolutions on matrix tiles against sums in double.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "dtypes/convert.h"
#include "kernels/cpu/products/tiles/split_convolution_driver.h"
#include "kernels/cpu/products/tiles/split_driver.h"
#include "kernels/cpu/products/tiles/split_microkernel.h"
#include "tests/kernels/products/tiles.h"

namespace tern {
namespace {

struct Linear {
  tiles::TileLinearShape shape;
  std::vector<float> x, weight, bias, y;
  explicit Linear(const tiles::TileLinearShape& s) : shape(s) {
    x = random_values(static_cast<std::size_t>(s.m * s.x_row), 1);
    weight = random_values(static_cast<std::size_t>(s.n * s.w_row), 2);
    bias = random_values(static_cast<std::size_t>(s.n), 3);
    y.assign(static_cast<std::size_t>(s.m * s.n), 7);
  }
  bool run() {
    const tiles::SplitLinear linear(shape);
    auto memory = unaligned(linear.scratch());
    return linear.run({x.data(), weight.data(), bias.data(), y.data(), {}}, aligned_part(memory));
  }
  double expected(std::int64_t i, std::int64_t j) const {
    double sum = bias[static_cast<std::size_t>(j)];
    for (std::int64_t p = 0; p < shape.k; ++p)
      sum += static_cast<double>(rounded(x[static_cast<std::size_t>(i * shape.x_row + p)], shape.parts)) *
             rounded(weight[static_cast<std::size_t>(j * shape.w_row + p)], shape.parts);
    return sum;
  }
};

TEST_F(MatrixTiles, LinearIsAsGoodAsFloats) {
  const tiles::TileLinearShape shapes[] = {
      {3, 16, 16, 16, 16},        {16, 32, 32, 32, 32},      {17, 33, 31, 31, 31},
      {128, 96, 64, 64, 64},      {37, 100, 75, 80, 77},     {300, 48, 130, 130, 130},
      {33, 70, 1100, 1100, 1104}, {5, 40, 3000, 3000, 3000}, {600, 16, 40, 48, 40}};
  for (tiles::TileLinearShape s : shapes) {
    for (const int parts : {tiles::kAllParts, tiles::kRounded}) {
      s.parts = parts;
      Linear linear(s);
      ASSERT_TRUE(linear.run());
      for (std::int64_t i = 0; i < s.m; ++i) {
        for (std::int64_t j = 0; j < s.n; ++j)
          ASSERT_NEAR(linear.y[static_cast<std::size_t>(i * s.n + j)], linear.expected(i, j), tolerance(s.k))
              << s.m << "x" << s.n << "x" << s.k << " at " << i << ", " << j << ", " << parts << " parts";
      }
    }
  }
}

/// A weight of 8 bits converts to bfloat16 exactly, regardless of the other operand.
TEST_F(MatrixTiles, WeightsOfEightBitsAreReadAsTheyLie) {
  for (const DType type : {DType::i8, DType::u8, DType::f8_e4m3fn, DType::f8_e5m2}) {
    for (const tiles::TileLinearShape& sizes :
         {tiles::TileLinearShape{3, 16, 16, 16, 16}, tiles::TileLinearShape{17, 33, 31, 31, 33},
          tiles::TileLinearShape{70, 70, 64, 64, 64}, tiles::TileLinearShape{300, 100, 130, 130, 131},
          tiles::TileLinearShape{33, 70, 1100, 1100, 1104}, tiles::TileLinearShape{5, 40, 3100, 3100, 3100}}) {
      for (const int parts : {tiles::kAllParts, tiles::kRounded}) {
        tiles::TileLinearShape s = sizes;
        s.parts = parts;
        Linear linear(s);
        const float most = type == DType::u8 ? 255 : type == DType::i8 ? 127 : 1;
        for (float& v : linear.weight) v = type == DType::u8 ? std::abs(v) * most : v * most;
        std::vector<std::byte> bytes(linear.weight.size());
        const auto count = static_cast<std::int64_t>(bytes.size());
        convert(linear.weight.data(), DType::f32, bytes.data(), type, count);
        convert(bytes.data(), type, linear.weight.data(), DType::f32, count);
        const tiles::SplitLinear tiles(s);
        auto memory = unaligned(tiles.scratch());
        ASSERT_TRUE(tiles.run({linear.x.data(), bytes.data(), linear.bias.data(), linear.y.data(), {}, type},
                              aligned_part(memory)));
        for (std::int64_t i = 0; i < s.m; ++i) {
          for (std::int64_t j = 0; j < s.n; ++j)
            ASSERT_NEAR(linear.y[static_cast<std::size_t>(i * s.n + j)], linear.expected(i, j), tolerance(s.k) * most)
                << name_of(type) << " " << s.m << "x" << s.n << "x" << s.k << " at " << i << ", " << j << ", " << parts;
        }
      }
    }
  }
}

TEST_F(MatrixTiles, ErrorsAreSmallerThanThoseOfAChain) {
  Linear linear({64, 64, 2048, 2048, 2048});
  ASSERT_TRUE(linear.run());
  double tiles = 0, chain = 0;
  for (std::int64_t i = 0; i < 64; ++i) {
    for (std::int64_t j = 0; j < 64; ++j) {
      float sum = linear.bias[static_cast<std::size_t>(j)];
      for (std::int64_t p = 0; p < 2048; ++p)
        sum = std::fma(linear.x[static_cast<std::size_t>(i * 2048 + p)],
                       linear.weight[static_cast<std::size_t>(j * 2048 + p)], sum);
      const double exact = linear.expected(i, j);
      tiles += std::pow(linear.y[static_cast<std::size_t>(i * 64 + j)] - exact, 2);
      chain += std::pow(sum - exact, 2);
    }
  }
  EXPECT_LT(tiles, chain);
}

TEST_F(MatrixTiles, SmallAndLargeNumbersKeepTheirDigits) {
  for (const double scale : {1e-15, 1e-10, 1e10, 1e18}) {
    Linear linear({20, 32, 64, 64, 64});
    for (float& v : linear.x) v = static_cast<float>(v * scale);
    for (float& v : linear.weight) v = static_cast<float>(v * scale);
    for (float& v : linear.bias) v = 0;
    ASSERT_TRUE(linear.run());
    for (std::int64_t i = 0; i < 20; ++i) {
      for (std::int64_t j = 0; j < 32; ++j)
        ASSERT_NEAR(linear.y[static_cast<std::size_t>(i * 32 + j)] / scale / scale,
                    linear.expected(i, j) / scale / scale, tolerance(64));
    }
  }
}

TEST_F(MatrixTiles, SayWhereResultsAreNotFinite) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float strange : {infinity, -infinity, std::nanf("")}) {
    for (const bool in_weight : {false, true}) {
      for (const int parts : {tiles::kAllParts, tiles::kRounded}) {
        Linear linear({20, 40, 50, 50, 50, parts});
        (in_weight ? linear.weight : linear.x)[777] = strange;
        EXPECT_FALSE(linear.run()) << strange << " in " << (in_weight ? "weight" : "x") << ", " << parts << " parts";
      }
    }
  }
}

void check_convolution_split_tiles(const Geometry& g, int parts) {
  const tiles::TileConvolutionShape shape = shape_of(g, parts);
  const std::int64_t taps = g.kernel_h * g.kernel_w, oh = shape.window[1].out, ow = shape.window[2].out;
  const auto x = random_values(static_cast<std::size_t>(g.batch * g.groups * g.in * g.height * g.width), 4),
             weight = random_values(static_cast<std::size_t>(g.groups * g.out * g.in * taps), 5),
             bias = random_values(static_cast<std::size_t>(g.groups * g.out), 6);
  const std::size_t results = static_cast<std::size_t>(g.batch * g.groups * g.out * oh * ow);
  std::vector<float> y(results + 1, 7), packed, unpacked(weight.size());
  const tiles::SplitConvolution convolution(shape);
  if (!convolution.reads_in_place()) {
    packed.resize(static_cast<std::size_t>(convolution.packed_size()));
    convolution.pack(weight.data(), packed.data());
    convolution.unpack(packed.data(), unpacked.data());
    ASSERT_EQ(unpacked, weight);
  }
  auto memory = unaligned(convolution.scratch());
  ASSERT_TRUE(convolution.run({x.data(), packed.empty() ? weight.data() : packed.data(), bias.data(), y.data(), {}},
                              aligned_part(memory)));
  EXPECT_EQ(y.back(), 7) << "written behind the result";
  const std::vector<double> left = rounded(x, parts), right = rounded(weight, parts);
  for (std::size_t i = 0; i < results; ++i) {
    const auto at = static_cast<std::int64_t>(i), c = at / ow / oh % (g.groups * g.out),
               n = at / ow / oh / (g.groups * g.out);
    double sum = bias[static_cast<std::size_t>(c)];
    for (std::int64_t ci = 0; ci < g.in; ++ci) {
      for (std::int64_t t = 0; t < taps; ++t) {
        const std::int64_t ih = at / ow % oh * g.stride + t / g.kernel_w * g.dilation - g.padding_before,
                           iw = at % ow * g.stride + t % g.kernel_w * g.dilation - g.padding_before;
        if (ih < 0 || ih >= g.height || iw < 0 || iw >= g.width) continue;
        const std::int64_t channel = (n * g.groups + c / g.out) * g.in + ci;
        sum += left[static_cast<std::size_t>((channel * g.height + ih) * g.width + iw)] *
               right[static_cast<std::size_t>((c * g.in + ci) * taps + t)];
      }
    }
    ASSERT_NEAR(y[i], sum, tolerance(g.in * taps)) << i;
  }
}

TEST_F(MatrixTiles, Convolutions) {
  const Geometry geometries[] = {
      {1, 1, 32, 32, 8, 8, 1, 1, 1, 1, 0, 0},   {1, 1, 40, 48, 7, 7, 1, 1, 1, 1, 0, 0},
      {2, 1, 16, 33, 14, 14, 1, 1, 2, 1, 0, 0}, {1, 1, 64, 64, 7, 7, 3, 3, 1, 1, 1, 1},
      {1, 1, 24, 20, 28, 27, 3, 3, 1, 1, 1, 1}, {1, 1, 33, 70, 15, 14, 3, 3, 2, 1, 1, 1},
      {1, 1, 32, 16, 9, 31, 5, 3, 1, 2, 3, 1},  {3, 2, 16, 24, 12, 12, 3, 3, 1, 1, 0, 2},
      {1, 1, 70, 40, 40, 40, 3, 3, 1, 1, 1, 1}, {1, 1, 130, 64, 6, 6, 3, 3, 1, 1, 1, 1},
      {1, 1, 16, 32, 20, 50, 1, 7, 3, 1, 3, 3}, {1, 1, 32, 32, 1, 100, 1, 9, 1, 1, 0, 0},
      {2, 1, 48, 96, 33, 33, 2, 2, 2, 1, 0, 1}, {1, 1, 200, 300, 5, 3, 1, 1, 1, 1, 0, 0},
  };
  for (const Geometry& g : geometries) {
    SCOPED_TRACE(testing::Message() << g.in << " to " << g.out << " channels of " << g.height << "x" << g.width
                                    << ", kernel " << g.kernel_h << "x" << g.kernel_w << ", stride " << g.stride);
    check_convolution_split_tiles(g, tiles::kAllParts);
    check_convolution_split_tiles(g, tiles::kRounded);
  }
}

}  // namespace
}  // namespace tern
