// Shared by tests of matrix tiles.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include "kernels/cpu/products/tiles/split_convolution_driver.h"

namespace tern {

inline std::vector<float> random_values(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> values(-1, 1);
  std::vector<float> v(n);
  for (float& x : v) x = values(random);
  return v;
}

inline std::vector<std::byte> unaligned(std::size_t bytes) {
  return std::vector<std::byte>(bytes + 64);
}

inline std::byte* aligned_part(std::vector<std::byte>& memory) {
  return memory.data() + (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64) % 64;
}

/// A sum of k products of floats, each at most 1: half a unit of 2^-24 for each of the sums of 32, and 2^-22 for each
/// product.
inline double tolerance(std::int64_t k) {
  return (std::sqrt(static_cast<double>(k)) * 4 + 4) * std::ldexp(1.0, -24) * std::sqrt(static_cast<double>(k)) / 2;
}

/// Rounds to `parts` parts of 8 bits, ties to even; three parts hold a whole float.
inline float rounded(float v, int parts) {
  if (parts == tiles::kAllParts || v == 0) return v;
  int exponent = 0;
  const float fraction = std::frexp(v, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, 8)), exponent - 8);
}

inline std::vector<double> rounded(const std::vector<float>& values, int parts) {
  std::vector<double> r;
  r.reserve(values.size());
  for (float v : values) r.push_back(rounded(v, parts));
  return r;
}

class MatrixTiles : public testing::Test {
 protected:
  void SetUp() override {
    if (!tiles::available()) GTEST_SKIP() << "this processor has no matrix tiles";
  }
};

struct Geometry {
  std::int64_t batch, groups, in, out, height, width, kernel_h, kernel_w, stride, dilation, padding_before,
      padding_after;
};

inline std::int64_t out_size(std::int64_t in, std::int64_t kernel, const Geometry& g) {
  return (in + g.padding_before + g.padding_after - g.dilation * (kernel - 1) - 1) / g.stride + 1;
}

inline tiles::TileConvolutionShape shape_of(const Geometry& g, int parts) {
  tiles::TileConvolutionShape shape;
  shape.window[1] = {g.height, out_size(g.height, g.kernel_h, g), g.kernel_h, g.stride, g.dilation, g.padding_before};
  shape.window[2] = {g.width, out_size(g.width, g.kernel_w, g), g.kernel_w, g.stride, g.dilation, g.padding_before};
  shape.batch = g.batch;
  shape.groups = g.groups;
  shape.in = g.in;
  shape.out = g.out;
  shape.parts = parts;
  return shape;
}

}  // namespace tern
