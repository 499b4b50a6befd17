// Error feedback against optimal brain surgery in float64: the inverse of the remaining moments is eliminated column by
// column, without a factor.
#include "exporter/passes/quantize/error_feedback.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "tests/random_floats.h"

namespace tern::quantize {
namespace {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

constexpr std::int64_t kFedRows = 70, kFedColumns = 192;

std::size_t matrix_index(std::int64_t row, std::int64_t column) {
  return static_cast<std::size_t>(row * kFedColumns + column);
}

/// X^T X of inputs with related columns of different sizes.
Floats related_moments(std::int64_t samples) {
  const Floats u = test::random_floats(samples * kFedColumns, 5);
  Floats x(u.size());
  for (std::int64_t s = 0; s < samples; ++s) {
    for (std::int64_t j = 0; j < kFedColumns; ++j) {
      const float left = j > 0 ? x[matrix_index(s, j - 1)] : 0.0F;
      x[matrix_index(s, j)] = u[matrix_index(s, j)] * (j % 7 == 0 ? 4.0F : 1.0F) + 0.5F * left;
    }
  }
  Floats h(static_cast<std::size_t>(kFedColumns * kFedColumns));
  for (std::int64_t i = 0; i < kFedColumns; ++i) {
    for (std::int64_t j = 0; j < kFedColumns; ++j) {
      double sum = 0;
      for (std::int64_t s = 0; s < samples; ++s)
        sum += static_cast<double>(x[matrix_index(s, i)]) * static_cast<double>(x[matrix_index(s, j)]);
      h[matrix_index(i, j)] = static_cast<float>(sum);
    }
  }
  return h;
}

FloatMatrix weight_of(const Floats& w) {
  return {reinterpret_cast<const std::byte*>(w.data()), DType::f32, kFedRows, kFedColumns, kFedColumns, 1};
}

QuantizedMatrix layout_of(const Quantized& q, const Recipe& recipe) {
  return {recipe.format->element, kFedRows, kFedColumns, q.blocks};
}

Floats elements_of(const Quantized& q, const Recipe& recipe) {
  Floats e(kFedRows * kFedColumns);
  const QuantizedMatrix m = layout_of(q, recipe);
  for (std::int64_t r = 0; r < kFedRows; ++r)
    decode_elements(m, q.bytes.data(), r, 0, kFedColumns, e.data() + r * kFedColumns);
  return e;
}

/// Sum over rows of (w - q) H (w - q)^T.
double output_error(const Floats& w, const Quantized& q, const Recipe& recipe, const Floats& h) {
  const QuantizedMatrix m = layout_of(q, recipe);
  double sum = 0;
  Floats y(kFedColumns);
  Doubles d(kFedColumns);
  for (std::int64_t r = 0; r < kFedRows; ++r) {
    dequantize_row(m, q.bytes.data(), r, 0, kFedColumns, y.data());
    for (std::int64_t j = 0; j < kFedColumns; ++j)
      d[static_cast<std::size_t>(j)] =
          static_cast<double>(w[matrix_index(r, j)]) - static_cast<double>(y[static_cast<std::size_t>(j)]);
    for (std::int64_t i = 0; i < kFedColumns; ++i) {
      for (std::int64_t j = 0; j < kFedColumns; ++j)
        sum += d[static_cast<std::size_t>(i)] * static_cast<double>(h[matrix_index(i, j)]) *
               d[static_cast<std::size_t>(j)];
    }
  }
  return sum;
}

/// Inverse by Gauss-Jordan elimination.
Doubles inverse_of(Doubles a, std::size_t n) {
  Doubles b(n * n);
  for (std::size_t i = 0; i < n; ++i) b[i * n + i] = 1;
  for (std::size_t i = 0; i < n; ++i) {
    const double pivot = a[i * n + i];
    for (std::size_t k = 0; k < n; ++k) {
      a[i * n + k] /= pivot;
      b[i * n + k] /= pivot;
    }
    for (std::size_t r = 0; r < n; ++r) {
      const double f = a[r * n + i];
      if (r == i || f == 0) continue;
      for (std::size_t k = 0; k < n; ++k) {
        a[r * n + k] -= f * a[i * n + k];
        b[r * n + k] -= f * b[i * n + k];
      }
    }
  }
  return b;
}

/// Elements by optimal brain surgery, in the order of the importance. `round`: the element nearest to a quotient.
template <class Round>
Doubles elements_by_surgery(const Floats& w, const Floats& h, const Quantized& scales, const Recipe& recipe,
                            const Round& round) {
  constexpr auto n = static_cast<std::size_t>(kFedColumns);
  const QuantizedMatrix m = layout_of(scales, recipe);
  double mean = 0;
  for (std::size_t j = 0; j < n; ++j) mean += static_cast<double>(h[j * n + j]) / static_cast<double>(n);
  Doubles damped(h.begin(), h.end());
  for (std::size_t j = 0; j < n; ++j) damped[j * n + j] += kFeedbackDamping * mean;
  Doubles inverse = inverse_of(damped, n), rows(w.begin(), w.end()), elements(w.size());
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return h[a * n + a] > h[b * n + b]; });
  for (const std::size_t j : order) {
    const Doubles pivot(inverse.begin() + static_cast<std::ptrdiff_t>(j * n),
                        inverse.begin() + static_cast<std::ptrdiff_t>((j + 1) * n));
    for (std::size_t r = 0; r < static_cast<std::size_t>(kFedRows); ++r) {
      const double scale = static_cast<double>(block_scale(m, scales.bytes.data(), static_cast<std::int64_t>(r),
                                                           static_cast<std::int64_t>(j) / m.blocks.columns)
                                                   .scale);
      const double element = round(rows[r * n + j] / scale), error = rows[r * n + j] - element * scale;
      elements[r * n + j] = element;
      for (std::size_t k = 0; k < n; ++k) rows[r * n + k] -= error / pivot[j] * pivot[k];
    }
    for (std::size_t i = 0; i < n; ++i) {
      const double f = inverse[i * n + j] / pivot[j];
      for (std::size_t k = 0; k < n; ++k) inverse[i * n + k] -= f * pivot[k];
    }
  }
  return elements;
}

Recipe recipe_of_feedback(std::string_view name) {
  const Format* const f = find_format(name);
  return {.format = f, .block = f->block, .rule = ScaleRule::gptq};
}

double round_to_fours(double v) {
  constexpr double kValues[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  double best = 0;
  for (const double value : kValues) {
    if (std::abs(std::abs(v) - value) < std::abs(std::abs(v) - best)) best = value;
  }
  return std::copysign(best, v);
}

TEST(ErrorFeedback, ElementsAreThoseOfOptimalBrainSurgery) {
  const Floats w = test::random_floats(kFedRows * kFedColumns, 3), h = related_moments(400);
  const auto factor = feedback_factor(h, kFedColumns);
  ASSERT_TRUE(factor);
  const auto integers = [](double lower, double upper) {
    return [=](double v) { return std::clamp(std::nearbyint(v), lower, upper); };
  };
  const auto compare = [&](const char* name, const auto& round) {
    const Recipe recipe = recipe_of_feedback(name);
    const Quantized q = quantize_with_feedback(weight_of(w), recipe, *factor);
    const Floats mine = elements_of(q, recipe);
    const Doubles expected = elements_by_surgery(w, h, q, recipe, round);
    std::size_t different = 0;
    for (std::size_t i = 0; i < mine.size(); ++i) different += static_cast<double>(mine[i]) != expected[i] ? 1 : 0;
    EXPECT_EQ(different, 0u) << name;
  };
  compare("int4", integers(-8, 7));
  compare("int8", integers(-128, 127));
  compare("mxfp4", round_to_fours);
  compare("nvfp4", round_to_fours);
}

TEST(ErrorFeedback, OutputsHaveLessErrorInEveryFormat) {
  const Floats w = test::random_floats(kFedRows * kFedColumns, 3), h = related_moments(400);
  const auto factor = feedback_factor(h, kFedColumns);
  ASSERT_TRUE(factor);
  for (const Format& f : formats()) {
    const Recipe recipe = recipe_of_feedback(f.name);
    const Quantized plain = quantize(weight_of(w), recipe), fed = quantize_with_feedback(weight_of(w), recipe, *factor);
    EXPECT_LT(output_error(w, fed, recipe, h), 0.8 * output_error(w, plain, recipe, h)) << f.name;
    EXPECT_GE(fed.error.noise, plain.error.noise * 0.99) << f.name;
    EXPECT_NEAR(fed.error.xx, plain.error.xx, plain.error.xx * 1e-5) << f.name;
  }
}

// Fewer samples than columns, and a column without inputs.
TEST(ErrorFeedback, MomentsMayBeSingular) {
  const Floats w = test::random_floats(kFedRows * kFedColumns, 3);
  Floats h = related_moments(20);
  for (std::int64_t j = 0; j < kFedColumns; ++j) h[matrix_index(9, j)] = h[matrix_index(j, 9)] = 0;
  const auto factor = feedback_factor(h, kFedColumns);
  ASSERT_TRUE(factor);
  const Recipe recipe = recipe_of_feedback("int4");
  const Quantized fed = quantize_with_feedback(weight_of(w), recipe, *factor);
  EXPECT_LT(output_error(w, fed, recipe, h), output_error(w, quantize(weight_of(w), recipe), recipe, h));
  EXPECT_TRUE(std::isfinite(fed.error.noise));
}

TEST(ErrorFeedback, MomentsWithoutAFactorAreRefused) {
  Floats h = related_moments(50);
  EXPECT_FALSE(feedback_factor(Floats(h.size()), kFedColumns));
  h[7] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(feedback_factor(h, kFedColumns));
}

TEST(ErrorFeedback, WeightsWithNaNAreRounded) {
  Floats w = test::random_floats(kFedRows * kFedColumns, 3);
  w[100] = std::numeric_limits<float>::quiet_NaN();
  const auto factor = feedback_factor(related_moments(400), kFedColumns);
  ASSERT_TRUE(factor);
  const Recipe recipe = recipe_of_feedback("int4");
  const Quantized fed = quantize_with_feedback(weight_of(w), recipe, *factor),
                  plain = quantize(weight_of(w), recipe, factor->importance);
  EXPECT_TRUE(std::ranges::equal(fed.bytes.span(), plain.bytes.span()));
}

}  // namespace
}  // namespace tern::quantize
