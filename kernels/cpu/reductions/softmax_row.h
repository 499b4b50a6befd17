// The two passes over a row of attention scores, vectorized for this processor.
#pragma once

#include <cstdint>

namespace tern::cpu {

/// s[i] = s[i] * scale + mask[i] (mask may be null; -infinity hides an element). Returns the maximum without NaN;
/// -infinity for an empty row.
float scale_and_max(float* s, std::int64_t n, float scale, const float* mask);
double scale_and_max(double* s, std::int64_t n, double scale, const double* mask);

/// s[i] = exp(s[i] - max), accurate to 2 ulp; subnormal results are zero. Returns the sum.
float exp_and_sum(float* s, std::int64_t n, float max);
double exp_and_sum(double* s, std::int64_t n, double max);

}  // namespace tern::cpu
