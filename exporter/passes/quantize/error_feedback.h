// Rounds a weight column by column; later columns correct the error of each column on the example inputs.
//
// GPTQ (Frantar, Ashkboos, Hoefler, Alistarh: "GPTQ", https://arxiv.org/abs/2210.17323). For a row w of the weight, the
// error on inputs X is (w - q) H (w - q)^T with H = X^T X. After column j has its element, the columns k behind it take
//
//   w[k] -= (w[j] - q[j]) / U[j][j] * U[j][k],  U upper triangular with H^-1 = U^T U
//
// Columns are visited from the largest H[j][j] to the smallest. Scales come from the unchanged weight before, by the
// search of scales with H[j][j] as importance.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "exporter/passes/quantize/matrix.h"

namespace tern::quantize {

struct FeedbackFactor {
  std::vector<std::int32_t> order;  ///< the columns in the order of their rounding
  std::vector<float> factor;        ///< U [columns, columns], rows and columns in that order
  std::vector<float> importance;    ///< H[j][j] of column j
};

/// Share of the mean of the diagonal that is added to the diagonal.
inline constexpr double kFeedbackDamping = 0.01;

/// `moments`: H [columns, columns], row-major. Columns without inputs keep their numbers. Empty if H has a number that
/// is not finite, or no factor.
std::optional<FeedbackFactor> feedback_factor(std::span<const float> moments, std::int64_t columns,
                                              double damping = kFeedbackDamping);

/// The weight in the recipe's format, on all threads. Weights with numbers that are not finite have the elements of
/// quantize().
Quantized quantize_with_feedback(const FloatMatrix& m, const Recipe& recipe, const FeedbackFactor& factor);

}  // namespace tern::quantize
