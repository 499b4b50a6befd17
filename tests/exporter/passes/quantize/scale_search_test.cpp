// Searched scales: errors against the best of many scales in float64, importance, and blocks out of range.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "exporter/passes/quantize/matrix.h"
#include "tests/random_floats.h"

namespace tern::quantize {
namespace {

using Floats = std::vector<float>;

constexpr std::int64_t kSearchRows = 24, kSearchColumns = 256;

/// Rows of bell-shaped numbers: sums of uniform ones. Some have a large number.
Floats bell_weight() {
  const std::size_t count = kSearchRows * kSearchColumns;
  const Floats u = test::random_floats(static_cast<std::int64_t>(4 * count), 17);
  Floats x(count);
  for (std::size_t i = 0; i < count; ++i) {
    x[i] = u[4 * i] + u[4 * i + 1] + u[4 * i + 2] + u[4 * i + 3];
    if (i % 97 == 0) x[i] *= 4;
  }
  return x;
}

Quantized quantized_with(const Floats& x, const Recipe& recipe, std::span<const float> importance = {}) {
  return quantize(
      {reinterpret_cast<const std::byte*>(x.data()), DType::f32, kSearchRows, kSearchColumns, kSearchColumns, 1},
      recipe, importance);
}

Floats values_of(const Quantized& q, const Recipe& recipe) {
  Floats y(kSearchRows * kSearchColumns);
  const QuantizedMatrix m{recipe.format->element, kSearchRows, kSearchColumns, q.blocks};
  for (std::int64_t r = 0; r < kSearchRows; ++r)
    dequantize_row(m, q.bytes.data(), r, 0, kSearchColumns, y.data() + r * kSearchColumns);
  return y;
}

double noise_of(const Floats& x, const Floats& y, std::span<const float> importance = {}) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double d = static_cast<double>(x[i]) - static_cast<double>(y[i]);
    sum += d * d * static_cast<double>(importance.empty() ? 1.0F : importance[i % kSearchColumns]);
  }
  return sum;
}

/// The least squared error of a block of integers over 3,000 scales of either sign, in float64.
double least_noise_of_integers(const float* x, std::int64_t n, double lower, double upper) {
  double largest = 0, best = std::numeric_limits<double>::infinity();
  for (std::int64_t i = 0; i < n; ++i) largest = std::max(largest, std::abs(static_cast<double>(x[i])));
  for (int step = 0; step < 3000; ++step) {
    const double scale = (step % 2 == 0 ? 1 : -1) * largest / -lower * (0.5 + step / 3000.0);
    double noise = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const double v = static_cast<double>(x[i]), q = std::clamp(std::nearbyint(v / scale), lower, upper);
      noise += (v - q * scale) * (v - q * scale);
    }
    best = std::min(best, noise);
  }
  return best;
}

Recipe recipe_of_search(std::string_view name, std::int32_t block = -1) {
  const Format* const f = find_format(name);
  return {.format = f, .block = block < 0 ? f->block : block};
}

// float32 scales of 16 candidates lose little against 3,000 scales.
TEST(ScaleSearch, IntegersHaveNearlyTheLeastError) {
  const Floats x = bell_weight();
  struct {
    const char* name;
    std::int32_t block;
    double min, max, loss;
  } const cases[] = {{"int4", 16, -8, 7, 1.02},
                     {"int4", 32, -8, 7, 1.02},
                     {"int4", 128, -8, 7, 1.02},
                     {"int4", 256, -8, 7, 1.03},
                     {"int8", 0, -128, 127, 1.06}};
  for (const auto& c : cases) {
    const Recipe recipe = recipe_of_search(c.name, c.block);
    const std::int64_t block = c.block == 0 ? kSearchColumns : c.block;
    double lower = 0;
    for (std::size_t i = 0; i < x.size(); i += static_cast<std::size_t>(block))
      lower += least_noise_of_integers(x.data() + i, block, c.min, c.max);
    const double noise = noise_of(x, values_of(quantized_with(x, recipe), recipe));
    EXPECT_LT(noise, lower * c.loss) << c.name << " " << c.block;
    Recipe torchao = recipe;
    torchao.rule = ScaleRule::torchao;
    EXPECT_LT(noise, noise_of(x, values_of(quantized_with(x, torchao), torchao))) << c.name << " " << c.block;
  }
}

TEST(ScaleSearch, NoFormatLosesAgainstTheLargestMagnitude) {
  const Floats x = bell_weight();
  for (const Format& f : formats()) {
    Recipe recipe = recipe_of_search(f.name);
    const double searched = quantized_with(x, recipe).error.noise;
    recipe.rule = ScaleRule::torchao;
    const double largest = quantized_with(x, recipe).error.noise;
    if (f.scheme == Scheme::row_floats) {
      EXPECT_EQ(searched, largest) << f.name;
    } else {
      EXPECT_LT(searched, largest) << f.name;
    }
  }
}

TEST(ScaleSearch, TheLargestPositiveWeightIsNotClipped) {
  Floats x(kSearchRows * kSearchColumns);
  for (std::size_t i = 0; i < x.size(); i += 8) x[i] = 1;  // others are zero
  const Recipe recipe = recipe_of_search("int4");
  EXPECT_LT(noise_of(x, values_of(quantized_with(x, recipe), recipe)), 1e-10);
}

TEST(ScaleSearch, ImportantColumnsHaveLessError) {
  const Floats x = bell_weight();
  Floats importance(kSearchColumns, 1.0F);
  for (std::size_t i = 0; i < importance.size(); i += 5) importance[i] = 100;
  for (const char* const name : {"int4", "int8", "nvfp4", "mxfp4"}) {
    const Recipe recipe = recipe_of_search(name);
    const Floats equal = values_of(quantized_with(x, recipe), recipe),
                 weighted = values_of(quantized_with(x, recipe, importance), recipe);
    EXPECT_LT(noise_of(x, weighted, importance), noise_of(x, equal, importance) * 0.99) << name;
    EXPECT_LE(noise_of(x, equal), noise_of(x, weighted)) << name;
  }
}

TEST(ScaleSearch, NumbersOutOfRangeKeepTheRuleOfTheLargestMagnitude) {
  Floats x = bell_weight();
  for (std::size_t i = 0; i < x.size(); ++i) x[i] *= i < x.size() / 2 ? 1e-30F : 1e30F;
  x[5] = std::numeric_limits<float>::quiet_NaN();
  x[kSearchColumns] = std::numeric_limits<float>::infinity();
  for (const char* const name : {"int4", "int8", "mxfp4", "nvfp4"}) {
    const Recipe search = recipe_of_search(name);
    Recipe torchao = search;
    torchao.rule = ScaleRule::torchao;
    const Quantized a = quantized_with(x, search), b = quantized_with(x, torchao);
    EXPECT_TRUE(std::ranges::equal(a.bytes.span(), b.bytes.span())) << name;
  }
}

}  // namespace
}  // namespace tern::quantize
